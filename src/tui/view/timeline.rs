//! Where the cursor is in the focused path.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::{Hit, Hits};
use crate::tui::app::App;
use crate::tui::theme::Role;

/// Where the cursor is in the focused path; can be clicked.
pub fn draw(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    let Some(info) = app.info() else { return };
    let total = info.units.len().max(1);
    let steps = app.steps();
    let left = format!(" {total} ");
    let right = format!(" {} ", info.kept().max(1));
    let width = usize::from(area.width).saturating_sub(left.len() + right.len());
    if width < 4 || steps == 0 {
        return;
    }
    // A finished path fills the line; a growing one as much of it as it has come.
    let span = app.path_length().max(steps);
    let column = |step: usize| step * (width - 1) / (span - 1).max(1);
    let mut spans = vec![Span::styled(left.clone(), app.theme().style(Role::Dim))];
    let reached = column(steps - 1);
    let at = column(app.cursor());
    for x in 0..width {
        let (glyph, role) = if x == at {
            (app.theme().glyph("◆", "@"), Role::Cursor)
        } else if x <= reached {
            (app.theme().glyph("━", "="), if x < at { Role::Negative } else { Role::Dim })
        } else {
            (app.theme().glyph("┄", "."), Role::Dim)
        };
        let step = x * (span - 1) / (width - 1).max(1);
        if x <= reached {
            hits.push((Rect { x: area.x + (left.len() + x) as u16, width: 1, ..area }, Hit::Step(step)));
        }
        spans.push(Span::styled(glyph, app.theme().style(role)));
    }
    spans.push(Span::styled(right, app.theme().style(Role::Dim)));
    frame.render_widget(Paragraph::new(Line::from(spans)), area);
}

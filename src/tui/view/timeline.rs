//! Where the cursor is in the focused path, on the axis of the charts but from all features to one.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::{Hit, Hits};
use crate::tui::app::App;
use crate::tui::chart::SizeAxis;
use crate::tui::theme::Role;

/// Draws the line; can be clicked.
pub fn draw(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    let (Some(info), Some(trace)) = (app.info(), app.trace()) else { return };
    let total = info.units.len().max(1);
    let last = info.kept().max(1);
    let (left, right) = (format!(" {total} "), format!(" {last} "));
    let width = usize::from(area.width).saturating_sub(left.len() + right.len());
    let steps = trace.steps();
    let Some(newest) = steps.last().filter(|_| width >= 4) else { return };
    let axis = SizeAxis::new(last..=total, app.scale());
    let column = |size: usize| {
        let place = axis.place(size).unwrap_or(0.0);
        ((1.0 - place) * (width - 1) as f64).round() as usize
    };
    let mut spans = vec![Span::styled(left.clone(), app.theme().style(Role::Dim))];
    let reached = column(newest.size);
    let at = column(app.size());
    for x in 0..width {
        let (glyph, role) = if x == at {
            (app.theme().glyph("▲", "^"), Role::Cursor)
        } else if x <= reached {
            (app.theme().glyph("━", "="), if x < at { Role::Negative } else { Role::Dim })
        } else {
            (app.theme().glyph("┄", "."), Role::Dim)
        };
        if x <= reached {
            let size = axis.size_of_cell((width - 1 - x) as u16, width as u16);
            let step = steps.partition_point(|step| step.size > size).min(steps.len() - 1);
            hits.push((
                Rect { x: area.x + (left.len() + x) as u16, width: 1, ..area },
                Hit::Step(step),
            ));
        }
        spans.push(Span::styled(glyph, app.theme().style(role)));
    }
    spans.push(Span::styled(right, app.theme().style(Role::Dim)));
    frame.render_widget(Paragraph::new(Line::from(spans)), area);
}

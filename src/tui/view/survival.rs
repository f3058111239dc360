//! Which splits still hold which feature at the size under the cursor.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use super::text::fit;
use super::{Hits, panel};
use crate::analysis::{Paths, RankTable};
use crate::tui::app::App;
use crate::tui::theme::Role;

/// Cells for a name, at least.
const NAME: usize = 8;

/// Features × splits: which splits still hold a feature at this size.
pub fn draw(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    let size = app.size();
    let inside =
        panel(frame, app, area, 2, &format!("Which splits keep each feature at size {size}"), hits);
    let Some(info) = app.info() else { return };
    let ranks = RankTable::new(&Paths::new(app.history(), info, app.focus().method));
    let splits = ranks.splits().len();
    if splits == 0 {
        frame.render_widget(Paragraph::new("no split has finished yet"), inside);
        return;
    }
    let width = usize::from(inside.width);
    // Short names before missing splits; what does not fit is counted.
    let cells = match width.saturating_sub(NAME + 1) {
        room if splits <= room => splits,
        room => room.saturating_sub(format!("…+{splits}").width()),
    };
    let unseen = splits - cells;
    let more = if unseen > 0 { format!("…+{unseen}") } else { String::new() };
    let name = width.saturating_sub(cells + more.width() + 1).min(30);
    let held = app.theme().glyph("■", "#");
    let gone = app.theme().glyph("·", ".");
    let lines: Vec<Line<'static>> = app
        .derived()
        .by_mean_rank
        .iter()
        .take(usize::from(inside.height))
        .map(|&unit| {
            let mut spans = vec![Span::raw(fit(&info.units[unit].name, name)), Span::raw(" ")];
            for split in 0..cells {
                let survives = ranks.survives(split, unit, size);
                let style = app.theme().style(if survives { Role::Negative } else { Role::Dim });
                spans.push(Span::styled(if survives { held } else { gone }, style));
            }
            spans.push(Span::styled(more.clone(), app.theme().style(Role::Dim)));
            Line::from(spans)
        })
        .collect();
    frame.render_widget(Paragraph::new(lines), inside);
}

//! A dashboard without a terminal: real runs of small tables told to an [`App`], and pictures of
//! what it draws.

use std::path::PathBuf;
use std::sync::Arc;

use crfe::data::Dataset;
use crfe::run::Permutations;
use crfe::run::{Engine, Gate, Plan, RunEvent, RunOptions, RunSpec};
use crfe::tui::{App, Depth, Hits, Keymap, Message, Theme, draw};
use ndarray::Array2;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Style};

/// A run and all that it said.
#[derive(Clone)]
pub struct Run {
    pub plan: Arc<Plan>,
    pub events: Vec<RunEvent>,
}

/// The colours of most pictures.
pub const DARK: Theme = Theme::new(Depth::True, false, false);

impl Run {
    /// Of a shipped table.
    pub fn of_file(table: &str, options: RunOptions) -> Self {
        // Relative, as its name is on the screen.
        let file = PathBuf::from("data").join(table);
        let data = Dataset::load(&file, &options.schema, |_, _| {}).unwrap();
        Self::of(data, options.check().unwrap())
    }

    /// Of a table with these names, in which every other feature tells the classes apart.
    pub fn of_names(names: &[&str], classes: &[&str], rows: usize, options: RunOptions) -> Self {
        let value = |(i, j): (usize, usize)| {
            ((i * 31 + j * 17 + i * j * 7) % 23) as f64
                + if j % 2 == 0 { 9.0 * (i % classes.len()) as f64 } else { 0.0 }
        };
        let x = Array2::from_shape_fn((rows, names.len()), value);
        let labels: Vec<&str> = (0..rows).map(|i| classes[i % classes.len()]).collect();
        let names = names.iter().map(|&name| name.to_owned()).collect();
        let data = Dataset::from_arrays(x.view(), &labels, Some(names)).unwrap();
        Self::of(data, options.check().unwrap())
    }

    /// Runs it on one thread.
    pub fn of(data: Dataset, spec: RunSpec) -> Self {
        Self::try_of(data, spec).unwrap()
    }

    /// Runs it on one thread, unless it is refused.
    pub fn try_of(data: Dataset, spec: RunSpec) -> crfe::Result<Self> {
        let plan = Arc::new(Plan::new(spec, data)?);
        let (send, receive) = crossbeam_channel::unbounded();
        let followups = plan.info.followups();
        Engine::new(&plan, &Gate::default(), send).then(followups).run(&plan.tasks(), 1);
        Ok(Self { plan, events: receive.iter().collect() })
    }

    /// A dashboard that knows neither the data nor the run, on a file of this name.
    pub fn unread(&self, file: &str, theme: Theme) -> App {
        App::new(file.into(), self.plan.info.spec.clone(), theme, Keymap::default())
    }

    /// A dashboard that knows the data and nothing of the run.
    pub fn ready(&self, theme: Theme) -> App {
        let mut app = self.unread("data/table.csv", theme);
        app.tell(Message::Ready(self.plan.clone()));
        app
    }

    /// Tells the whole run.
    pub fn tell_all(&self, app: &mut App) {
        self.events.iter().for_each(|event| app.tell(Message::Event(event.clone())));
    }

    /// A dashboard after the run.
    pub fn watched(&self, theme: Theme) -> App {
        let mut app = self.ready(theme);
        self.tell_all(&mut app);
        app
    }
}

/// So many splits, all else as usual.
pub fn splits(count: usize) -> RunOptions {
    let mut options = RunOptions {
        stop: crfe::select::StopRule::Knee,
        validate: None,
        permutations: Permutations::Count(0),
        ..RunOptions::default()
    };
    options.split.splits = count;
    options
}

/// What would be on the screen, and what is where.
pub fn picture(app: &mut App, width: u16, height: u16) -> (Buffer, Hits) {
    app.refresh();
    app.set_size(width, height);
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let mut hits = Vec::new();
    terminal.draw(|frame| hits = draw(frame, app)).unwrap();
    (terminal.backend().buffer().clone(), hits)
}

/// The symbols of a row.
pub fn row(buffer: &Buffer, y: u16) -> String {
    (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect()
}

/// The symbols line by line, then a letter for the style of each cell, then what the letters mean.
pub fn dump(buffer: &Buffer) -> String {
    let mut styles: Vec<Style> = vec![Style::reset()];
    let mut letters = String::new();
    for y in 0..buffer.area.height {
        let line: String = (0..buffer.area.width)
            .map(|x| {
                let style = buffer[(x, y)].style();
                let known = styles.iter().position(|other| *other == style).unwrap_or_else(|| {
                    styles.push(style);
                    styles.len() - 1
                });
                letter(known)
            })
            .collect();
        letters += &format!("{}\n", line.trim_end_matches('.'));
    }
    let text: String =
        (0..buffer.area.height).map(|y| format!("{}\n", row(buffer, y).trim_end())).collect();
    let legend: String = styles
        .iter()
        .enumerate()
        .skip(1)
        .map(|(i, style)| {
            let colour = |colour: Option<Color>| colour.unwrap_or(Color::Reset).to_string();
            format!(
                "{} {} on {} {:?}\n",
                letter(i),
                colour(style.fg),
                colour(style.bg),
                style.add_modifier
            )
        })
        .collect();
    format!("{text}\n{letters}\n{legend}")
}

fn letter(i: usize) -> char {
    if i == 0 {
        '.'
    } else {
        (b'a'..=b'z').chain(b'A'..=b'Z').chain(b'0'..=b'9').nth(i - 1).map_or('!', char::from)
    }
}

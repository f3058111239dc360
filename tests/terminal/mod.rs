//! A terminal for the program: a pseudo-terminal, an emulator that reads along, and deadlines
//! instead of sleeps.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};

/// The program.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_crfe-tui");
/// Nothing takes so long, unless it never happens.
const DEADLINE: Duration = Duration::from_secs(60);
/// Begins a frame.
const FRAME: &[u8] = b"\x1b[?2026h";

/// What came out so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traffic {
    pub bytes: usize,
    pub frames: usize,
}

struct Seen {
    parser: vt100::Parser,
    raw: Vec<u8>,
}

pub struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    writer: Box<dyn Write + Send>,
    seen: Arc<(Mutex<Seen>, Condvar)>,
    closing: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Terminal {
    /// The program with these arguments.
    pub fn start(columns: u16, rows: u16, arguments: &[&str]) -> Self {
        Self::start_with(columns, rows, PROGRAM, arguments, &[])
    }

    /// Any command, and more environment; without the settings of whoever runs the tests.
    pub fn start_with(
        columns: u16,
        rows: u16,
        command: &str,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let pair = native_pty_system().openpty(size(columns, rows)).unwrap();
        let mut builder = CommandBuilder::new(command);
        builder.args(arguments);
        builder.cwd(env!("CARGO_MANIFEST_DIR"));
        builder.env_clear();
        let path = std::env::var("PATH").unwrap_or_default();
        let usual = [
            ("PATH", path.as_str()),
            ("HOME", "/dev/null"),
            ("XDG_CONFIG_HOME", "/dev/null"),
            ("TERM", "xterm-256color"),
            ("LANG", "C.UTF-8"),
            ("CRFE_VALIDATE", "none"),
            ("CRFE_PERMUTATIONS", "none"),
            ("CRFE_STOP", "knee"),
        ];
        usual.iter().chain(environment).for_each(|(name, value)| builder.env(name, value));
        let child = pair.slave.spawn_command(builder).unwrap();
        // Else its end is never seen.
        drop(pair.slave);
        let master = pair.master;
        let closing = Arc::new(AtomicBool::new(false));
        let parser = vt100::Parser::new(at_least_two(rows), at_least_two(columns), 0);
        let seen = Arc::new((Mutex::new(Seen { parser, raw: Vec::new() }), Condvar::new()));
        let reader = Some(read_along(&*master, &seen, &closing));
        let writer = master.take_writer().unwrap();
        Self { child, master, writer, seen, closing, reader }
    }

    /// Types.
    pub fn press(&mut self, keys: &str) {
        self.writer.write_all(keys.as_bytes()).unwrap();
        self.writer.flush().unwrap();
    }

    /// Waits until the screen is as it should be.
    #[track_caller]
    pub fn until(&self, what: &str, is: impl Fn(&vt100::Screen) -> bool) {
        let end = Instant::now() + DEADLINE;
        let mut seen = lock(&self.seen.0);
        while !is(seen.parser.screen()) {
            let left = end.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "never: {what}\n{}", seen.parser.screen().contents());
            seen = self.seen.1.wait_timeout(seen, left).unwrap().0;
        }
    }

    /// Waits until this is on the screen.
    #[track_caller]
    pub fn until_text(&self, text: &str) {
        self.until(text, |screen| screen.contents().contains(text));
    }

    /// Waits for something that is not on the screen.
    #[track_caller]
    fn poll(&self, what: &str, mut is: impl FnMut() -> bool) {
        let end = Instant::now() + DEADLINE;
        while !is() {
            assert!(
                Instant::now() < end,
                "never: {what}\n{}",
                lock(&self.seen.0).parser.screen().contents()
            );
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }

    /// Waits until the terminal edits lines and shows what is typed.
    #[track_caller]
    pub fn until_cooked(&self) {
        self.poll("a cooked terminal", || {
            let flags =
                self.master.get_termios().map(|termios| format!("{:?}", termios.local_flags));
            flags.is_some_and(|flags| flags.contains("ICANON") && flags.contains("ECHO"))
        });
    }

    /// Waits for the end: the exit code, and a terminal as it was before.
    #[track_caller]
    pub fn ended(&mut self) -> u32 {
        let code = self.exit_code();
        self.until("the main screen with a cursor", |screen| {
            !screen.alternate_screen()
                && !screen.hide_cursor()
                && screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None
        });
        self.until_cooked();
        code
    }

    /// The terminal has another size.
    pub fn resize(&self, columns: u16, rows: u16) {
        lock(&self.seen.0).parser.set_size(at_least_two(rows), at_least_two(columns));
        self.master.resize(size(columns, rows)).unwrap();
    }

    /// Sends a signal to the program.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.process_id().unwrap() as i32).unwrap()
    }

    /// Everything that came out.
    pub fn raw(&self) -> Vec<u8> {
        lock(&self.seen.0).raw.clone()
    }

    /// How much came out.
    pub fn traffic(&self) -> Traffic {
        let seen = lock(&self.seen.0);
        let frames = seen.raw.windows(FRAME.len()).filter(|window| *window == FRAME).count();
        Traffic { bytes: seen.raw.len(), frames }
    }

    /// How often any thread of the program went to sleep of its own accord.
    pub fn wake_ups(&self) -> u64 {
        let tasks =
            std::fs::read_dir(format!("/proc/{}/task", self.pid().as_raw_nonzero())).unwrap();
        tasks
            .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("status")).ok())
            .filter_map(|status| {
                let line =
                    status.lines().find(|line| line.starts_with("voluntary_ctxt_switches"))?;
                line.split_whitespace().nth(1)?.parse::<u64>().ok()
            })
            .sum()
    }

    /// Waits until no thread of the program has run for a moment.
    #[track_caller]
    pub fn settle(&self) {
        let mut before = (self.wake_ups(), self.traffic());
        let mut quiet = 0;
        self.poll("rest", || {
            let now = (self.wake_ups(), self.traffic());
            quiet = if now == before { quiet + 1 } else { 0 };
            before = now;
            quiet > 10
        });
    }

    /// Waits for so long, unless something comes out.
    pub fn silence(&self, time: Duration) {
        let seen = lock(&self.seen.0);
        let bytes = seen.raw.len();
        let (seen, _) =
            self.seen.1.wait_timeout_while(seen, time, |seen| seen.raw.len() == bytes).unwrap();
        assert_eq!(seen.raw.len(), bytes, "something was written");
    }

    /// Stops reading what the program writes, from the next key on.
    pub fn stop_reading(&mut self) {
        self.closing.store(true, Ordering::SeqCst);
        self.press("2");
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
    }

    /// Reads again, first what was written in the meantime.
    pub fn read_on(&mut self) {
        self.closing.store(false, Ordering::SeqCst);
        self.reader = Some(read_along(&*self.master, &self.seen, &self.closing));
    }

    /// Closes the terminal under the program, which must end by itself; its exit code.
    #[track_caller]
    pub fn hang_up(mut self) -> u32 {
        // The reader holds the terminal too.
        self.stop_reading();
        let mut child = self.child;
        drop((self.master, self.writer));
        wait_for(&mut *child, || "it lives on without a terminal".to_owned())
    }

    /// Waits for the end, whatever the terminal looks like; the exit code.
    #[track_caller]
    pub fn exit_code(&mut self) -> u32 {
        let seen = self.seen.clone();
        wait_for(&mut *self.child, || {
            format!("it does not end\n{}", lock(&seen.0).parser.screen().contents())
        })
    }
}

/// Waits for the end of a program; its exit code.
#[track_caller]
fn wait_for(child: &mut (dyn Child + Send + Sync), otherwise: impl Fn() -> String) -> u32 {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.exit_code();
        }
        assert!(Instant::now() < end, "{}", otherwise());
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// Reads what comes out of a terminal until it ends, or until the first bytes after `closing` is
/// set.
fn read_along(
    master: &dyn MasterPty,
    seen: &Arc<(Mutex<Seen>, Condvar)>,
    closing: &Arc<AtomicBool>,
) -> JoinHandle<()> {
    let mut from = master.try_clone_reader().unwrap();
    let (to, over) = (seen.clone(), closing.clone());
    std::thread::spawn(move || {
        let mut bytes = [0; 16 * 1024];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            let mut seen = lock(&to.0);
            seen.raw.extend_from_slice(&bytes[..count]);
            seen.parser.process(&bytes[..count]);
            to.1.notify_all();
            if over.load(Ordering::SeqCst) {
                return;
            }
        }
    })
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }
}

/// A wide character in an emulator of one column is more than it can take.
fn at_least_two(cells: u16) -> NonZeroU16 {
    NonZeroU16::new(cells.max(2)).unwrap()
}

//! Signals that end a run: the first lets it finish its step and write a checkpoint, the second ends
//! the process at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use espalier_io::disk::temporary::remove_all_and_exit;
use espalier_io::exit::{CLOSED_PIPE, Stopped};
use espalier_io::output::note;
use espalier_io::ranks::Collective;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::register_usize;

/// Interval at which signals are looked for.
const INTERVAL: Duration = Duration::from_millis(20);

#[cfg(unix)]
const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, signal_hook::consts::SIGHUP];
#[cfg(not(unix))]
const SIGNALS: [i32; 2] = [SIGINT, SIGTERM];

/// Signals received by this process.
pub(super) struct Interrupts {
    /// Set when the run has to stop.
    pub(super) stop: Arc<AtomicBool>,
    /// The first signal; 0 before.
    first: Arc<AtomicUsize>,
    /// Set after the run, when a signal ends the process at once.
    ended: Arc<AtomicBool>,
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

fn exit_code(signal: usize) -> u8 {
    u8::try_from(128 + signal).unwrap_or(1)
}

/// Waits for signals.
fn watch(latest: &AtomicUsize, first: &AtomicUsize, stop: &AtomicBool, ended: &AtomicBool) -> ! {
    loop {
        thread::sleep(INTERVAL);
        let signal = latest.swap(0, Ordering::Relaxed);
        if signal == 0 {
            continue;
        }
        if first.load(Ordering::Relaxed) != 0 || ended.load(Ordering::Relaxed) {
            remove_all_and_exit(i32::from(exit_code(signal)));
        }
        first.store(signal, Ordering::Relaxed);
        stop.store(true, Ordering::Relaxed);
        note(
            "interrupted: finishing the step and writing a checkpoint; interrupt again to end now",
        );
    }
}

impl Interrupts {
    /// Begins to listen. Where that is not possible, a signal ends the process without a checkpoint,
    /// and a warning says so.
    pub(super) fn listen() -> Self {
        let interrupts = Self {
            stop: Arc::default(),
            first: Arc::default(),
            ended: Arc::default(),
        };
        let (stop, first) = (Arc::clone(&interrupts.stop), Arc::clone(&interrupts.first));
        let ended = Arc::clone(&interrupts.ended);
        let latest = Arc::<AtomicUsize>::default();
        let begin = || -> io::Result<()> {
            for signal in SIGNALS {
                let number = usize::try_from(signal).unwrap_or_default();
                register_usize(signal, Arc::clone(&latest), number)?;
            }
            let watcher = thread::Builder::new().name("signals".into());
            watcher.spawn(move || watch(&latest, &first, &stop, &ended))?;
            Ok(())
        };
        if let Err(e) = begin() {
            note(format_args!(
                "warning: an interrupt will not write a checkpoint: {e}"
            ));
        }
        interrupts
    }

    /// Returns the error of a run that stopped early, with the signal that any rank received.
    /// Without a signal, nobody reads its messages any more.
    pub(super) fn stopped(&self, ranks: &dyn Collective) -> Stopped {
        let own = match self.first.load(Ordering::Relaxed) {
            0 => 0,
            signal => exit_code(signal),
        };
        let codes = ranks.all_gather_bytes(&[own]).concat();
        let code = codes.into_iter().find(|code| *code != 0);
        Stopped::quietly(code.unwrap_or(CLOSED_PIPE))
    }

    /// Returns an error with the exit code of the signal, if one was received.
    pub(super) fn explain(&self, error: anyhow::Error) -> anyhow::Error {
        match self.first.load(Ordering::Relaxed) {
            0 => error,
            signal => Stopped {
                code: exit_code(signal),
                message: format!("{error:#}"),
            }
            .into(),
        }
    }
}

//! Phases of a long command: each is announced with the time that it usually takes, and all are listed
//! with the time that they took at the end.

use std::fmt::Write as _;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The phases of this process that have ended, with their times. Installers run them deep inside of other
/// steps, so they are kept in one place instead of being handed through every function.
static DONE: Mutex<Vec<(String, Duration)>> = Mutex::new(Vec::new());

/// When the first phase began. Phases may overlap, so their sum is not the time of all.
static BEGIN: OnceLock<Instant> = OnceLock::new();

/// Runs one phase. `usual` says how long it takes on two idle cores, such as `"2 minutes"`.
pub fn run<T>(name: &str, usual: &str, work: impl FnOnce() -> T) -> T {
    eprintln!("== {name} (usually {usual})");
    let start = Instant::now();
    BEGIN.get_or_init(|| start);
    let result = work();
    let phase = (name.to_owned(), start.elapsed());
    DONE.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(phase);
    result
}

/// Prints all phases of this process with their times; nothing if there was none.
pub fn report() {
    let done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
    if !done.is_empty() {
        let all = BEGIN.get().map_or(Duration::ZERO, Instant::elapsed);
        eprint!("{}", table(&done, all));
    }
}

fn table(done: &[(String, Duration)], all: Duration) -> String {
    let mut text = String::new();
    let rows = done.iter().map(|(name, time)| (name.as_str(), *time));
    for (name, time) in rows.chain([("in all", all)]) {
        let seconds = time.as_secs_f64().round() as u64;
        // Writing to a `String` does not fail.
        let _ = writeln!(text, "{name:<44} {:>4}:{:02}", seconds / 60, seconds % 60);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_minutes_and_seconds_with_the_time_of_all_at_the_end() {
        let phase = |name: &str, ms| (name.to_owned(), Duration::from_millis(ms));
        let all = Duration::from_secs(150);
        let text = table(&[phase("std", 140_400), phase("trunk", 59_600)], all);
        let words: Vec<&str> = text.split_whitespace().collect();
        assert_eq!(words.join(" "), "std 2:20 trunk 1:00 in all 2:30");
        assert_eq!(text.lines().count(), 3);
    }
}

//! Counts of a campaign.

use std::collections::BTreeMap;
use std::fmt;

use clap::ValueEnum;
use xtask::names::name_of;

use super::fault::Fault;
use super::round::Outcome;
use super::task::Task;

/// Counts by fault and by task, and all violations.
#[derive(Clone, Debug)]
pub struct Summary {
    seed: u64,
    disk: &'static str,
    faults: BTreeMap<Fault, Counts>,
    tasks: BTreeMap<Task, Counts>,
    /// Violations, each with its round.
    pub violations: Vec<String>,
}

/// Rounds of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    rounds: u32,
    affected: u32,
    violated: u32,
}

impl Counts {
    fn add(&mut self, outcome: &Outcome) {
        self.rounds += 1;
        self.affected += u32::from(outcome.affected);
        self.violated += u32::from(!outcome.violations.is_empty());
    }
}

impl Summary {
    pub(super) fn new(seed: u64, disk: &'static str) -> Self {
        Self {
            seed,
            disk,
            faults: BTreeMap::new(),
            tasks: BTreeMap::new(),
            violations: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, outcome: Outcome) {
        self.faults.entry(outcome.fault).or_default().add(&outcome);
        self.tasks.entry(outcome.task).or_default().add(&outcome);
        let (task, fault) = (name_of(&outcome.task), name_of(&outcome.fault));
        let named = outcome.violations.into_iter();
        self.violations
            .extend(named.map(|what| format!("{task}, {fault}: {what}")));
    }

    /// Returns the number of rounds.
    pub fn rounds(&self) -> u32 {
        self.faults.values().map(|counts| counts.rounds).sum()
    }

    /// Returns the number of rounds whose command still ran when the fault came, or failed because of it.
    pub fn affected(&self) -> u32 {
        self.faults.values().map(|counts| counts.affected).sum()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        table(f, "fault", &self.faults)?;
        table(f, "task", &self.tasks)?;
        for violation in &self.violations {
            writeln!(f, "VIOLATION {violation}")?;
        }
        writeln!(
            f,
            "{} rounds with seed {}, full disk by {}; {} affected, {} violations",
            self.rounds(),
            self.seed,
            self.disk,
            self.affected(),
            self.violations.len()
        )
    }
}

/// Writes the counts of all values of a kind.
fn table<T: ValueEnum>(
    f: &mut fmt::Formatter<'_>,
    kind: &str,
    counts: &BTreeMap<T, Counts>,
) -> fmt::Result {
    writeln!(f, "{kind:<16} rounds affected   violated")?;
    for (value, counts) in counts {
        let Counts {
            rounds,
            affected,
            violated,
        } = counts;
        let name = name_of(value);
        writeln!(f, "{name:<16} {rounds:>6} {affected:>8} {violated:>10}")?;
    }
    writeln!(f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_counted_by_fault_and_by_task() {
        let mut summary = Summary::new(7, "a disk");
        let outcome = |task, fault, affected, violations: &[&str]| Outcome {
            task,
            fault,
            affected,
            code: 0,
            violations: violations.iter().map(|&v| v.to_owned()).collect(),
        };
        summary.add(outcome(Task::Fit, Fault::Kill, true, &[]));
        summary.add(outcome(Task::Fit, Fault::Cut, false, &[]));
        summary.add(outcome(
            Task::Site,
            Fault::Kill,
            true,
            &["half a file", "and another"],
        ));
        assert_eq!((summary.rounds(), summary.affected()), (3, 2));
        let text = summary.to_string();
        assert!(
            text.contains("kill                  2        2          1"),
            "{text}"
        );
        assert!(
            text.contains("fit                   2        1          0"),
            "{text}"
        );
        assert!(text.contains("VIOLATION site, kill: half a file"), "{text}");
        assert!(
            text.ends_with("3 rounds with seed 7, full disk by a disk; 2 affected, 2 violations\n")
        );
    }
}

//! What the commands that share their work between processes have in common.

use std::rc::Rc;
use std::thread;
use std::time::Duration;

use burn::tensor::Device;
use espalier_checkpoints::device::Backend;
use espalier_io::exit::Stopped;
use espalier_io::output::note;
use espalier_io::ranks::{Collective, local_index};
use espalier_io::storage::without_secrets;
use serde::{Deserialize, Serialize};

use crate::exit_code::code;

/// Time that other ranks leave rank 0 to report an error that all of them have.
const AFTER_ROOT: Duration = Duration::from_secs(2);

/// An error of a rank, as the others learn of it.
#[derive(Serialize, Deserialize)]
struct Failure {
    code: u8,
    message: String,
}

/// Returns the value if all ranks have one. Otherwise the first rank with an error reports it, and
/// all return an error without a message.
///
/// The report is written before any rank returns: a launcher may end all processes as soon as the
/// first one exits with a code other than 0.
pub(super) fn agree<T>(ranks: &dyn Collective, own: anyhow::Result<T>) -> anyhow::Result<T> {
    if ranks.world() == 1 {
        return own;
    }
    let failure = own.as_ref().err().map(|error| Failure {
        code: code(error),
        message: format!("{error:#}"),
    });
    let all = ranks.all_gather_bytes(&serde_json::to_vec(&failure)?);
    for (rank, bytes) in all.iter().enumerate() {
        let failure: Option<Failure> = serde_json::from_slice(bytes)?;
        let Some(failure) = failure else { continue };
        if rank == ranks.rank() {
            report(ranks, &failure.message);
        }
        ranks.barrier();
        return Err(Stopped::quietly(failure.code).into());
    }
    own
}

/// Prints an error of this rank, unless its message is empty.
fn report(ranks: &dyn Collective, message: &str) {
    if !message.is_empty() {
        let message = without_secrets(message);
        note(format_args!("error: rank {}: {message}", ranks.rank()));
    }
}

/// Returns the number of cores for each process that may run on the same cores as this one; at
/// least 1.
pub(super) fn own_cores(ranks: &dyn Collective) -> usize {
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if ranks.world() == 1 {
        return cores;
    }
    // The launcher may have bound the processes of a machine to different cores.
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let allowed = status.lines().find(|l| l.starts_with("Cpus_allowed_list:"));
    let own = format!("{host} {}", allowed.unwrap_or_default()).into_bytes();
    let all = ranks.all_gather_bytes(&own);
    let here = all.iter().filter(|other| **other == own).count();
    (cores / here.max(1)).max(1)
}

/// Returns the device of this process: where there are several, the GPU with its number on this machine.
///
/// # Errors
/// Bad usage if the program was built without the backend, or a launcher's variable is no number.
pub(super) fn numbered_device(backend: Backend, ranks: &dyn Collective) -> anyhow::Result<Device> {
    let number = match ranks.world() {
        1 => None,
        _ => Some(local_index()?),
    };
    backend.numbered_device(number)
}

/// Ends all ranks after an error of this one, since the others wait for it.
pub(super) fn end_all(ranks: &Rc<dyn Collective>, error: anyhow::Error) -> anyhow::Error {
    if ranks.world() == 1 {
        return error;
    }
    if !ranks.is_root() {
        // An error that all ranks have is reported once, by rank 0, which also ends this process.
        thread::sleep(AFTER_ROOT);
    }
    report(&**ranks, &format!("{error:#}"));
    ranks.abort(code(&error))
}

#[cfg(test)]
mod tests {
    use espalier_io::exit::usage;
    use espalier_io::ranks::Single;

    use super::*;

    #[test]
    fn a_single_process_agrees_with_itself_and_keeps_its_error() {
        assert_eq!(agree(&Single, Ok(3)).unwrap(), 3);
        let error = agree::<()>(&Single, Err(usage("no data"))).unwrap_err();
        assert_eq!((code(&error), error.to_string()), (2, "no data".to_owned()));
        assert!(own_cores(&Single) >= 1);
    }
}

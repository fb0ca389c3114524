//! How this process was started: alone, or as one of several by `mpirun`, `srun` or another
//! launcher. Launchers tell by environment variables.

use std::rc::Rc;

use super::collective::Collective;
use super::single::Single;
use crate::exit::usage;

/// Variables with the number of processes, by launcher.
const SIZES: [(&str, &str); 3] = [
    ("OMPI_COMM_WORLD_SIZE", "Open MPI"),
    ("PMI_SIZE", "MPICH, Intel MPI or Slurm's PMI-2"),
    ("SLURM_STEP_NUM_TASKS", "Slurm"),
];

/// Variables with the number of a process among those of its machine, from 0.
const LOCAL_INDICES: [&str; 6] = [
    "LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "MV2_COMM_WORLD_LOCAL_RANK",
    "PALS_LOCAL_RANKID",
    "SLURM_LOCALID",
];

/// The processes that a launcher started together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Their number, at least 2.
    pub size: usize,
    /// The launcher.
    pub by: &'static str,
}

impl Launch {
    /// Reads the variables of launchers; `None` for a process that was started alone.
    pub fn detect(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let launches = SIZES.iter().filter_map(|(name, by)| {
            let size: usize = variable(name)?.trim().parse().ok()?;
            Some(Self { size, by })
        });
        launches.into_iter().find(|launch| launch.size > 1)
    }

    /// Detects the launch of this process.
    pub fn of_this_process() -> Option<Self> {
        Self::detect(|name| std::env::var(name).ok())
    }
}

/// Returns the number of this process among those of its machine, from 0; it chooses the device.
///
/// # Errors
/// Bad usage if a launcher's variable is no number.
pub fn local_index() -> anyhow::Result<usize> {
    local_index_of(|name| std::env::var(name).ok())
}

fn local_index_of(variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<usize> {
    let found = LOCAL_INDICES
        .iter()
        .find_map(|name| Some((name, variable(name)?)));
    let Some((name, value)) = found else {
        return Ok(0);
    };
    value.trim().parse().map_err(|_| {
        usage(format!(
            "{name}: expected the number of this process on its machine, found `{value}`"
        ))
    })
}

/// Joins the other processes of this run, where a launcher started several.
///
/// # Errors
/// Bad usage if several processes were started and this program was built without MPI.
pub fn start() -> anyhow::Result<Rc<dyn Collective>> {
    let Some(launch) = Launch::of_this_process() else {
        return Ok(Rc::new(Single));
    };
    connect(&launch)
}

#[cfg(feature = "mpi")]
fn connect(launch: &Launch) -> anyhow::Result<Rc<dyn Collective>> {
    let mpi = super::mpi::Mpi::start()?;
    if mpi.world() != launch.size {
        return Err(usage(format!(
            "expected {} processes as {} says, found {} in MPI; start the program with the launcher \
             of the MPI library that it was built with, for example `srun --mpi=pmix`",
            launch.size,
            launch.by,
            mpi.world()
        )));
    }
    Ok(Rc::new(mpi))
}

#[cfg(not(feature = "mpi"))]
fn connect(launch: &Launch) -> anyhow::Result<Rc<dyn Collective>> {
    Err(usage(format!(
        "{} processes were started by {}, but this program was built without MPI; build it with \
         `--features mpi`, or start one process",
        launch.size, launch.by
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(set: &[(&str, &str)]) -> impl Fn(&str) -> Option<String> {
        move |name| {
            let found = set.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        }
    }

    #[test]
    fn launchers_are_recognised_by_their_variables() {
        assert_eq!(Launch::detect(variables(&[])), None);
        assert_eq!(
            Launch::detect(variables(&[("OMPI_COMM_WORLD_SIZE", "1")])),
            None
        );
        // A batch script of Slurm that starts one process sets SLURM_NTASKS, not the step's number.
        assert_eq!(Launch::detect(variables(&[("SLURM_NTASKS", "4")])), None);
        let two = Launch::detect(variables(&[("OMPI_COMM_WORLD_SIZE", "2")])).unwrap();
        assert_eq!((two.size, two.by), (2, "Open MPI"));
    }

    #[test]
    fn the_local_number_comes_from_the_first_known_variable() {
        assert_eq!(local_index_of(variables(&[])).unwrap(), 0);
        let both = [("SLURM_LOCALID", "1"), ("LOCAL_RANK", "3")];
        assert_eq!(local_index_of(variables(&both)).unwrap(), 3);
        let error = local_index_of(variables(&[("LOCAL_RANK", "x")])).unwrap_err();
        assert!(
            error.to_string().contains("LOCAL_RANK: expected"),
            "{error}"
        );
    }
}

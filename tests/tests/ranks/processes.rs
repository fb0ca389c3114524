//! Ranks that are processes, started by `mpirun`. `cargo xtask test` installs it, builds the trainer
//! with MPI and runs these tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use espalier_tests::calls::{Call, call, metrics};
use espalier_tests::{signal, trainer_command, wait_until};

fn mpirun() -> Command {
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe"]);
    command.args(["--bind-to", "none"]);
    command
}

/// Adds one group of processes to an `mpirun`.
fn with_group(command: &mut Command, count: usize, program: &Path, call: Call) {
    command.arg("-n").arg(count.to_string()).arg(program);
    command.args(call.command().get_args());
}

/// Returns the command of a call in several processes.
pub fn in_processes(count: usize, call: Call) -> Command {
    let mut command = mpirun();
    with_group(&mut command, count, &program(), call);
    command
}

/// Returns the call of a run in the folder `logs/NAME`, on synthetic data if it has no other.
fn fit(logs: &Path, name: &str, more: &str) -> Call {
    let data = match more.contains("--dataset") {
        true => "",
        false => "--dataset synthetic --method hycoclip",
    };
    call("fit --model vit_t8_64 --batch-size 6 --warmup 2 --lr 1e-3 --workers 1 --deterministic")
        .set("--logs", logs)
        .set("--name", name)
        .with(data)
        .with(more)
        .with("train.log_frequency=1 dataset.synthetic_records=64")
}

fn program() -> PathBuf {
    trainer_command().get_program().into()
}

pub fn text(output: &Output) -> String {
    let texts = [&output.stdout, &output.stderr];
    texts.map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

/// Starts a long run in several processes, and waits for its first checkpoint.
fn running(count: usize, logs: &Path, more: &str) -> Child {
    let long = fit(logs, "a", "--steps 100000 --save-frequency 2").with(more);
    let mut command = in_processes(count, long);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = child.spawn().unwrap();
    let noted = logs.join("a/last_checkpoint.txt");
    wait_until("no checkpoint was written", || noted.exists());
    child
}

/// Returns the process of a rank that trains into `logs`.
fn process_of_rank(logs: &Path, rank: usize) -> u32 {
    let wanted = format!("OMPI_COMM_WORLD_RANK={rank}");
    let has = |path: PathBuf, part: &str| {
        let bytes = fs::read(path).unwrap_or_default();
        let mut values = bytes.split(|b| *b == 0);
        values.any(|value| value == part.as_bytes())
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let mut processes = entries.filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    let found = processes.find(|id| {
        let of = |name: &str| PathBuf::from(format!("/proc/{id}/{name}"));
        has(of("environ"), &wanted) && has(of("cmdline"), logs.to_str().unwrap())
    });
    found.unwrap()
}

/// Waits for the end of a job; returns its exit code and its text.
fn ended(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().unwrap();
    let text = text(&output);
    assert!(!text.contains("panicked"), "{text}");
    (output.status.code(), text)
}

/// Checks that one process continues a run from its last checkpoint.
fn resumes_alone(logs: &Path) {
    let last = fs::read_to_string(logs.join("a/last_checkpoint.txt")).unwrap();
    let step: u64 = last.trim().rsplit('_').next().unwrap().parse().unwrap();
    let more = format!("--resume latest --steps {}", step + 1);
    let resumes = format!("resumes after step {step} ");
    fit(logs, "a", &more).ends_with(0, &[&resumes]);
}

#[test]
#[ignore = "needs MPI: cargo xtask test"]
fn two_processes_train_to_the_bits_of_one() {
    let dir = tempfile::tempdir().unwrap();
    let fit = |name: &str| fit(dir.path(), name, "--steps 5");
    fit("one").done();
    let output = in_processes(2, fit("two")).output().unwrap();
    let said = text(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("2 processes share each step"), "{said}");
    assert_eq!(said.matches("done after step 5 of 5").count(), 1, "{said}");
    for file in ["model.safetensors", "state.json"] {
        let bytes = |name: &str| {
            let checkpoint = format!("{name}/checkpoints/checkpoint_00000005");
            fs::read(dir.path().join(checkpoint).join(file)).unwrap()
        };
        assert!(bytes("one") == bytes("two"), "{file} differs");
    }
}

#[test]
#[ignore = "needs MPI: cargo xtask test"]
fn a_killed_rank_ends_the_others_and_leaves_a_whole_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let job = running(3, dir.path(), "");
    signal(process_of_rank(dir.path(), 1), "KILL");
    let (code, text) = ended(job);
    assert!(code.is_some_and(|code| code != 0), "{text}");
    assert!(text.contains("rank 1"), "{text}");
    resumes_alone(dir.path());
}

#[test]
#[ignore = "needs MPI: cargo xtask test"]
fn a_rank_that_hangs_is_named_after_the_time_limit() {
    let dir = tempfile::tempdir().unwrap();
    let job = running(3, dir.path(), "train.rank_timeout=3");
    let hanging = process_of_rank(dir.path(), 2);
    signal(hanging, "STOP");
    let (code, text) = ended(job);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("error: rank 0: waited"), "{text}");
    assert!(text.contains("no answer from rank 2;"), "{text}");
    resumes_alone(dir.path());
}

#[test]
#[ignore = "needs MPI: cargo xtask test"]
fn a_signal_to_one_rank_stops_all_after_the_same_step() {
    let dir = tempfile::tempdir().unwrap();
    let job = running(2, dir.path(), "");
    signal(process_of_rank(dir.path(), 1), "TERM");
    let (code, text) = ended(job);
    assert_eq!(code, Some(143), "{text}");
    assert_eq!(text.matches("interrupted after step").count(), 1, "{text}");
    let last = fs::read_to_string(dir.path().join("a/last_checkpoint.txt")).unwrap();
    let steps = metrics(&dir.path().join("a")).len();
    assert_eq!(last.trim(), format!("checkpoint_{steps:08}"));
    resumes_alone(dir.path());
}

/// Runs two processes with different calls or programs into `logs/a`, which must be refused before
/// anything is written.
fn refused(logs: &Path, groups: [(&Path, Call); 2], expected: &str) {
    let mut command = mpirun();
    for (at, (program, call)) in groups.into_iter().enumerate() {
        if at > 0 {
            command.arg(":");
        }
        with_group(&mut command, 1, program, call);
    }
    let output = command.output().unwrap();
    let said = text(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(said.matches(expected).count(), 1, "{expected}: {said}");
    assert!(!logs.join("a").exists(), "{said}");
}

#[test]
#[ignore = "needs MPI: cargo xtask test"]
fn ranks_with_other_settings_data_or_programs_are_refused_at_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let (logs, trainer) = (dir.path().join("logs"), program());
    let with = |more: &str| fit(&logs, "a", "--steps 3").with(more);
    let seeds = ["--seed 1", "--seed 2"].map(|seed| (&*trainer, with(seed)));
    refused(&logs, seeds, "train.seed: 1 on rank 0, 2 on rank 1");
    // Paths may differ, but not what they hold.
    let data = [("few.csv", 20), ("many.csv", 21)].map(|(name, rows)| {
        let path = dir.path().join(name);
        let row = "thing => dog => a dog => a dog runs,idea => cat => a cat => a cat runs\n";
        fs::write(&path, format!("positive,negative\n{}", row.repeat(rows))).unwrap();
        let fit = fit(&logs, "a", "--steps 3 --dataset hierarcaps --method re");
        (&*trainer, fit.set("--data", path))
    });
    refused(&logs, data, "training data: 20 records");
    // A rank that cannot even begin is named by its own error.
    let backends = ["", "--backend wgpu"].map(|backend| (&*trainer, with(backend)));
    refused(&logs, backends, "error: rank 1: ");
    // Another build of the program.
    let other = dir.path().join("trainer");
    let mut bytes = fs::read(&trainer).unwrap();
    bytes.push(0);
    fs::write(&other, bytes).unwrap();
    let mode = fs::metadata(&trainer).unwrap().permissions();
    fs::set_permissions(&other, mode).unwrap();
    let programs = [&*trainer, &*other].map(|program| (program, with("")));
    refused(&logs, programs, "program: version ");
}

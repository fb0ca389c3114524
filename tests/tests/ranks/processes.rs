//! Ranks that are processes, started by `mpirun`. `cargo xtask test` installs it, builds the trainer
//! with MPI and runs these tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use espalier_tests::{trainer, trainer_command};

/// Longest time that a test waits for something that must happen.
const PATIENCE: Duration = Duration::from_secs(300);

pub fn mpirun() -> Command {
    let mut command = Command::new("mpirun");
    command.args([
        "--allow-run-as-root",
        "--oversubscribe",
        "--bind-to",
        "none",
    ]);
    command
}

/// Returns the arguments of a run on synthetic data in the folder `logs/NAME`.
fn fit_args(logs: &Path, name: &str, more: &[&str]) -> Vec<String> {
    let fixed = "fit --model vit_t8_64 --batch-size 6 --warmup 2 --lr 1e-3 --workers 1 \
                 --deterministic";
    let mut args: Vec<String> = fixed.split_whitespace().map(str::to_owned).collect();
    if !more.contains(&"--dataset") {
        let data = ["--dataset", "synthetic", "--method", "hycoclip"];
        args.extend(data.map(str::to_owned));
    }
    args.extend(["--logs".to_owned(), logs.to_str().unwrap().to_owned()]);
    args.extend(["--name".to_owned(), name.to_owned()]);
    args.extend(more.iter().map(|arg| (*arg).to_owned()));
    args.extend(["train.log_frequency=1", "dataset.synthetic_records=64"].map(str::to_owned));
    args
}

/// Adds one group of processes to an `mpirun`.
fn with_group(command: &mut Command, count: usize, program: &Path, args: &[String]) {
    command.arg("-n").arg(count.to_string()).arg(program);
    command.args(args);
}

pub fn program() -> PathBuf {
    trainer_command().get_program().into()
}

pub fn text(output: &Output) -> String {
    let texts = [&output.stdout, &output.stderr];
    texts.map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

/// Runs the same arguments in several processes.
fn fit(count: usize, logs: &Path, name: &str, more: &[&str]) -> Output {
    let mut command = mpirun();
    with_group(&mut command, count, &program(), &fit_args(logs, name, more));
    command.output().unwrap()
}

/// Starts a long run in several processes, and waits for its first checkpoint.
fn running(count: usize, logs: &Path, more: &[&str]) -> Child {
    let mut command = mpirun();
    let long = ["--steps", "100000", "--save-frequency", "2"];
    let args = fit_args(logs, "a", &[&long, more].concat());
    with_group(&mut command, count, &program(), &args);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = child.spawn().unwrap();
    let begun = Instant::now();
    while !logs.join("a/last_checkpoint.txt").exists() {
        assert!(begun.elapsed() < PATIENCE, "no checkpoint was written");
        std::thread::sleep(Duration::from_millis(10));
    }
    child
}

/// Returns the process of a rank that trains into `logs`.
fn process_of_rank(logs: &Path, rank: usize) -> u32 {
    let wanted = format!("OMPI_COMM_WORLD_RANK={rank}");
    let has = |path: PathBuf, part: &str| {
        let bytes = fs::read(path).unwrap_or_default();
        bytes
            .split(|b| *b == 0)
            .any(|value| value == part.as_bytes())
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let mut processes = entries.filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    let found = processes.find(|id| {
        let of = |name: &str| PathBuf::from(format!("/proc/{id}/{name}"));
        has(of("environ"), &wanted) && has(of("cmdline"), logs.to_str().unwrap())
    });
    found.unwrap()
}

fn signal(process: u32, name: &str) {
    let sent = Command::new("kill")
        .args([format!("-{name}"), process.to_string()])
        .status();
    assert!(sent.unwrap().success());
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
    let steps = (step + 1).to_string();
    let args = fit_args(logs, "a", &["--resume", "latest", "--steps", &steps]);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let output = trainer(&args);
    let text = text(&output);
    assert!(output.status.success(), "{text}");
    assert!(
        text.contains(&format!("resumes after step {step} ")),
        "{text}"
    );
}

#[test]
#[ignore = "needs MPI: cargo xtask test"]
fn two_processes_train_to_the_bits_of_one() {
    let dir = tempfile::tempdir().unwrap();
    let more = ["--steps", "5"];
    let args = fit_args(dir.path(), "one", &more);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let output = trainer(&args);
    assert!(output.status.success(), "{}", text(&output));
    let output = fit(2, dir.path(), "two", &more);
    let said = text(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("2 processes share each step"), "{said}");
    assert_eq!(said.matches("done after step 5 of 5").count(), 1, "{said}");
    for file in ["model.safetensors", "state.json"] {
        let bytes = |name: &str| {
            let folder = dir
                .path()
                .join(name)
                .join("checkpoints/checkpoint_00000005");
            fs::read(folder.join(file)).unwrap()
        };
        assert!(bytes("one") == bytes("two"), "{file} differs");
    }
}

#[test]
#[ignore = "needs MPI: cargo xtask test"]
fn a_killed_rank_ends_the_others_and_leaves_a_whole_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let job = running(3, dir.path(), &[]);
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
    let job = running(3, dir.path(), &["train.rank_timeout=3"]);
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
    let job = running(2, dir.path(), &[]);
    signal(process_of_rank(dir.path(), 1), "TERM");
    let (code, text) = ended(job);
    assert_eq!(code, Some(143), "{text}");
    assert_eq!(text.matches("interrupted after step").count(), 1, "{text}");
    let metrics = fs::read_to_string(dir.path().join("a/metrics.jsonl")).unwrap();
    let last = fs::read_to_string(dir.path().join("a/last_checkpoint.txt")).unwrap();
    let steps = metrics.lines().count();
    assert_eq!(last.trim(), format!("checkpoint_{steps:08}"));
    resumes_alone(dir.path());
}

/// Runs two processes with different arguments or programs, which must be refused before anything
/// is written.
fn refused(groups: [(&Path, &[&str]); 2], expected: &str) {
    let dir = tempfile::tempdir().unwrap();
    let mut command = mpirun();
    for (at, (program, more)) in groups.into_iter().enumerate() {
        if at > 0 {
            command.arg(":");
        }
        with_group(&mut command, 1, program, &fit_args(dir.path(), "a", more));
    }
    let output = command.output().unwrap();
    let said = text(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(said.matches(expected).count(), 1, "{expected}: {said}");
    assert!(!dir.path().join("a").exists(), "{said}");
}

#[test]
#[ignore = "needs MPI: cargo xtask test"]
fn ranks_with_other_settings_data_or_programs_are_refused_at_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let trainer = program();
    let steps = ["--steps", "3"];
    let with = |more: &[&'static str]| [&steps, more].concat();
    let (one, two) = (with(&["--seed", "1"]), with(&["--seed", "2"]));
    let expected = "train.seed: 1 on rank 0, 2 on rank 1";
    refused([(&trainer, &one), (&trainer, &two)], expected);
    // Paths may differ, but not what they hold.
    let chains = |name: &str, rows: usize| {
        let path = dir.path().join(name);
        let row = "thing => dog => a dog => a dog runs,idea => cat => a cat => a cat runs\n";
        fs::write(&path, format!("positive,negative\n{}", row.repeat(rows))).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (few, many) = (chains("few.csv", 20), chains("many.csv", 21));
    let on = |path: &str| -> Vec<String> {
        let args = ["--dataset", "hierarcaps", "--method", "re", "--data", path];
        steps
            .iter()
            .chain(&args)
            .map(|arg| (*arg).to_owned())
            .collect()
    };
    let (few, many) = (on(&few), on(&many));
    let few: Vec<&str> = few.iter().map(String::as_str).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    refused(
        [(&trainer, &few), (&trainer, &many)],
        "training data: 20 records",
    );
    // A rank that cannot even begin is named by its own error.
    let missing = with(&["--backend", "wgpu"]);
    refused(
        [(&trainer, &steps), (&trainer, &missing)],
        "error: rank 1: ",
    );
    // Another build of the program.
    let other = dir.path().join("trainer");
    let mut bytes = fs::read(&trainer).unwrap();
    bytes.push(0);
    fs::write(&other, bytes).unwrap();
    let mode = fs::metadata(&trainer).unwrap().permissions();
    fs::set_permissions(&other, mode).unwrap();
    refused([(&trainer, &steps), (&other, &steps)], "program: version ");
}

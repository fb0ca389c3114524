//! The program under both of its names: help, completions that a shell runs, and manual pages.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::Command;

const ESPALIER: &str = env!("CARGO_BIN_EXE_espalier");
const TRAINER: &str = env!("CARGO_BIN_EXE_trainer");

fn output(program: &str, args: &[&str]) -> String {
    let out = Command::new(program).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{args:?}: {said}");
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn help_and_version_show_the_name_that_the_program_was_called_by() {
    for (program, name, other) in [
        (ESPALIER, "espalier", "trainer"),
        (TRAINER, "trainer", "espalier"),
    ] {
        assert!(output(program, &["--version"]).starts_with(&format!("{name} ")));
        let help = output(program, &["caption", "--help"]);
        for told in [
            format!("Usage: {name} caption [OPTIONS]"),
            format!("Example: {name} caption"),
            format!("which `{name} verify` can reproduce"),
        ] {
            assert!(help.contains(&told), "{help}");
        }
        assert!(!help.contains(other), "{help}");
    }
}

/// Returns what bash offers for a line that ends where the tab key is pressed.
fn completed(program: &str, name: &str, line: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("completions");
    fs::write(&script, output(program, &["completions", "bash"])).unwrap();
    let ask = r#"
        source "$1"
        read -r -a COMP_WORDS <<< "$3"
        COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
        function=$(complete -p "$2" | sed 's/.*-F \([^ ]*\).*/\1/')
        "$function" "$2" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let out = Command::new("bash")
        .args(["--norc", "-eu", "-c", ask, "bash"])
        .arg(&script)
        .args([name, line])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && said.is_empty(), "{said}");
    let text = String::from_utf8(out.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
#[cfg(unix)]
fn bash_completes_commands_options_and_values() {
    assert_eq!(completed(ESPALIER, "espalier", "espalier fi"), ["fit"]);
    assert_eq!(completed(TRAINER, "trainer", "trainer data au"), ["audit"]);
    let methods = completed(ESPALIER, "espalier", "espalier fit --metho");
    assert_eq!(methods, ["--method"]);
    let values = completed(ESPALIER, "espalier", "espalier fit --method hyco");
    assert_eq!(values, ["hycoclip"]);
}

#[test]
fn every_shell_gets_a_script_for_the_name_in_use() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = output(ESPALIER, &["completions", shell]);
        assert!(script.contains("espalier"), "{shell}");
        assert!(!script.contains("trainer"), "{shell}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("new/man1");
    output(ESPALIER, &["man", "--out", &pages.to_string_lossy()]);
    for name in [
        "espalier.1",
        "espalier-fit.1",
        "espalier-data-audit.1",
        "espalier-plot-disk.1",
    ] {
        let page = fs::read_to_string(pages.join(name)).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{name}: {page}");
    }
    assert!(output(ESPALIER, &["man"]).contains(".TH espalier 1"));
}

//! Tests that change what is global to a process run in a process of their own.

use std::process::Command;

/// Variable that names the test that this process was started for.
const ALONE: &str = "ESPALIER_TEST_ALONE";

/// Runs the body of a test in a process in which no other test runs. `test` is the test's path in its
/// program, such as `own_operations::transformers`.
pub fn alone(test: &str, body: impl FnOnce()) {
    if std::env::var_os(ALONE).is_some_and(|name| name == test) {
        return body();
    }
    let program = std::env::current_exe().unwrap();
    let output = Command::new(program)
        .args([test, "--exact", "--include-ignored", "--nocapture"])
        .env(ALONE, test)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{test}, in a process of its own: {said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

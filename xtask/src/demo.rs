//! From a fresh clone to the page in a browser.

use std::path::Path;

use anyhow::Result;

use crate::process::{command, on_path};
use crate::serve::{Server, check_port};
use crate::setup::{self, wasm_target::Choice};
use crate::{paths, web_build};

/// Path of the shipped model in the built page.
const MODEL: &str = "models/default/manifest.json";

/// Builds the page, serves it and prints its address last; returns only on an error.
///
/// # Errors
/// Fails if a tool cannot be installed, the page cannot be built, or the port is in use.
pub fn run(root: &Path, port: u16, open: bool) -> Result<()> {
    // Checks the port first: a build takes minutes.
    check_port(port)?;
    let tools = setup::wasm(root, Choice::Best)?;
    web_build::build(root, &tools, true)?;
    let dist = paths::dist(root);
    if !dist.join(MODEL).exists() {
        eprintln!("note: dist/{MODEL} is missing, so the page will ask for a model");
    }
    let server = Server::start(&dist, port)?;
    let url = server.url();
    if open {
        show(&url);
    }
    eprintln!("serving until Ctrl-C at");
    println!("{url}");
    loop {
        std::thread::park();
    }
}

/// Opens the user's browser where there is a desktop; the address is printed in any case.
fn show(url: &str) {
    let desktop = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|n| std::env::var_os(n).is_some());
    if let Some(opener) = on_path("xdg-open").filter(|_| desktop) {
        let quiet = std::process::Stdio::null;
        command(opener)
            .arg(url)
            .stdout(quiet())
            .stderr(quiet())
            .spawn()
            .ok();
    }
}

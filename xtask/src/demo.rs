//! From a fresh clone to the page in a browser.

use std::path::Path;

use anyhow::Result;

use crate::process::{command, on_path};
use crate::serve::{Server, check_port};
use crate::setup::{self, WasmTools};
use crate::{engines, paths, phases, web_build};

/// Path of the shipped model in the built page.
const MODEL: &str = "models/default/manifest.json";

/// Builds the page, serves it and prints its address last; returns only on an error.
///
/// Where there is no page yet, it is served as soon as its CPU engine is there, and the WebGPU engine
/// is built meanwhile.
///
/// # Errors
/// Fails if a tool cannot be installed, the page cannot be built, or the port is in use.
pub fn run(root: &Path, port: u16, open: bool) -> Result<()> {
    // Checks the port first: a build takes minutes.
    check_port(port)?;
    let tools = setup::wasm(root)?;
    let dist = paths::dist(root);
    let early = if dist.join(engines::FILE).exists() {
        None
    } else {
        serve_first(root, &tools, port, open)?
    };
    let built = web_build::build(root, &tools, true);
    if !dist.join(MODEL).exists() {
        eprintln!("note: dist/{MODEL} is missing, so the page will ask for a model");
    }
    let server = match (early, built) {
        (None, built) => {
            built?;
            let server = Server::start(&dist, port)?;
            show(open, &server.url());
            server
        }
        (Some(server), Ok(())) => {
            eprintln!("the page has its WebGPU engine now; it is used from the next load on");
            server
        }
        (Some(server), Err(error)) => {
            eprintln!("error: {error:#}\nthe page goes on without a WebGPU engine");
            server
        }
    };
    phases::report();
    eprintln!("serving until Ctrl-C at");
    println!("{}", server.url());
    loop {
        std::thread::park();
    }
}

/// Builds the page with its CPU engine and serves it, below the complete one that will follow. `None`
/// if it cannot be built by itself: the complete build then tells why.
fn serve_first(root: &Path, tools: &WasmTools, port: u16, open: bool) -> Result<Option<Server>> {
    let folder = match web_build::build_first(root, tools) {
        Ok(folder) => folder,
        Err(error) => {
            eprintln!("the page cannot be built without its WebGPU engine: {error:#}");
            return Ok(None);
        }
    };
    let server = Server::start_over(&paths::dist(root), &folder, port)?;
    phases::report();
    eprintln!("the page is open, on the CPU engine; the WebGPU engine is being built");
    println!("{}", server.url());
    show(open, &server.url());
    Ok(Some(server))
}

/// With `open`, opens the user's browser where there is a desktop; the address is printed in any case.
fn show(open: bool, url: &str) {
    let desktop = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|n| std::env::var_os(n).is_some());
    if let Some(opener) = on_path("xdg-open").filter(|_| open && desktop) {
        let quiet = std::process::Stdio::null;
        let mut browser = command(opener);
        browser
            .arg(url)
            .stdout(quiet())
            .stderr(quiet())
            .spawn()
            .ok();
    }
}

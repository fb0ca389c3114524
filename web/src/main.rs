//! The page's program: mounts the page in the HTML shell.

fn main() {
    #[cfg(target_arch = "wasm32")]
    espalier_web::app::start();
    #[cfg(not(target_arch = "wasm32"))]
    eprintln!("this program runs in a browser; build and serve it with `cargo xtask demo`");
}

//! The CPU engine's worker.

fn main() {
    #[cfg(target_arch = "wasm32")]
    espalier_web::engine::worker::serve(espalier_web::messages::protocol::Backend::Cpu);
}

//! Training on the backend of GPUs. A software driver for Vulkan is enough (Debian: mesa-vulkan-drivers).

#![allow(clippy::unwrap_used)]

use std::path::Path;

use espalier_lab::gpu::{GpuBackend, build, losses};

#[test]
#[ignore = "needs a driver for Vulkan and compiles the trainer again: cargo xtask test --all"]
fn losses_on_vulkan_are_those_of_the_cpu() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let program = build(root, GpuBackend::Wgpu).unwrap();
    for (model, side) in [("vit_t8_64", None), ("efficientnet_lite0", Some(64))] {
        let [expected, found] = ["flex", "wgpu"]
            .map(|backend| losses(&program, backend, (model, side), [4, 4]).unwrap());
        assert_eq!(expected.len(), 4);
        for (found, expected) in found.iter().zip(&expected) {
            let difference = (found - expected).abs();
            assert!(
                difference <= 1e-4 * expected.abs(),
                "{model}: {found} {expected}"
            );
        }
        assert!(
            expected.windows(2).all(|two| two[0] != two[1]),
            "{expected:?}"
        );
    }
}

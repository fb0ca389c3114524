//! EfficientNet-Lite: parity with PyTorch in inference and training, import, and the classifier.
//!
//! `golden/gen_efficientnet.py` writes the checkpoint and its expected outputs.

mod import;
mod parity;
mod support;
mod training;

//! Exit codes: 0 success, 1 failure at run time, 2 bad usage, configuration or data, 3 refused by
//! the quality gate; 130, 143 and 141 stopped by an interrupt, by SIGTERM or by a closed pipe.

use espalier_core::CoreError;
use espalier_data::DataError;
use espalier_io::exit::{Refused, Stopped, Usage};

/// Returns the exit code of an error: that of the first cause in its chain that has one, else 1.
pub fn code(error: &anyhow::Error) -> u8 {
    for cause in error.chain() {
        if let Some(stopped) = cause.downcast_ref::<Stopped>() {
            return stopped.code;
        }
        if cause.is::<Refused>() {
            return 3;
        }
        if let Some(data) = cause.downcast_ref::<DataError>() {
            return data.exit_code();
        }
        if let Some(core) = cause.downcast_ref::<CoreError>() {
            return if matches!(core, CoreError::Device(_)) {
                1
            } else {
                2
            };
        }
        if cause.is::<Usage>() {
            return 2;
        }
    }
    1
}

#[cfg(test)]
mod tests {
    use anyhow::Context;
    use espalier_io::exit::usage;

    use super::*;

    #[test]
    fn context_does_not_hide_the_code() {
        let wrapped = Err::<(), _>(usage("no such thing"))
            .context("reading x")
            .unwrap_err();
        assert_eq!(code(&wrapped), 2);
        let refused = anyhow::Error::from(Refused("too much is lost".into()));
        assert_eq!(code(&refused), 3);
        assert_eq!(code(&anyhow::anyhow!("disk full")), 1);
    }
}

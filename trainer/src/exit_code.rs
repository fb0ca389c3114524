//! Exit codes: 0 success, 1 failure at run time, 2 bad usage, configuration or data, 3 refused by
//! the quality gate; 130, 143 and 141 stopped by an interrupt, by SIGTERM or by a closed pipe.

use std::error::Error;

use espalier_core::CoreError;
use espalier_data::DataError;
use espalier_io::exit::{Refused, Stopped, Usage};

/// Returns the exit code of an error: that of the first cause in its chain that has one, else 1.
pub fn code(error: &anyhow::Error) -> u8 {
    error.chain().find_map(code_of).unwrap_or(1)
}

fn code_of(cause: &(dyn Error + 'static)) -> Option<u8> {
    let stopped = cause.downcast_ref::<Stopped>().map(|stopped| stopped.code);
    let refused = cause.is::<Refused>().then_some(3);
    let data = cause.downcast_ref::<DataError>().map(DataError::exit_code);
    let core = cause.downcast_ref::<CoreError>().map(|core| match core {
        CoreError::Device(_) => 1,
        _ => 2,
    });
    let usage = cause.is::<Usage>().then_some(2);
    stopped.or(refused).or(data).or(core).or(usage)
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

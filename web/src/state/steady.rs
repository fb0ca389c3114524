//! Keeps the answer steady while the camera moves.

/// Number of successive frames that have to agree before another answer is shown.
const AGREEING: u32 = 3;

/// Decides which answers are shown while the camera runs. A new answer replaces the shown one only
/// after several frames agree on it, so that it does not flicker between neighbours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Steady {
    /// Id of the node where the shown answer stops.
    shown: Option<String>,
    /// The node that the last frames stopped at, and their number.
    candidate: Option<(String, u32)>,
}

impl Steady {
    /// Takes the node where the path of the next frame stops. Returns whether its answer is to be
    /// shown.
    pub fn shows(&mut self, stop: &str) -> bool {
        if self.shown.as_deref() == Some(stop) {
            self.candidate = None;
            return true;
        }
        let count = match self.candidate.take() {
            Some((candidate, count)) if candidate == stop => count + 1,
            _ => 1,
        };
        if self.shown.is_none() || count >= AGREEING {
            self.shown = Some(stop.to_owned());
            return true;
        }
        self.candidate = Some((stop.to_owned(), count));
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_changes_only_after_several_frames_agree() {
        let mut steady = Steady::default();
        let shown = [
            "cat", "dog", "cat", "dog", "dog", "cat", "dog", "dog", "dog", "cat",
        ]
        .map(|stop| steady.shows(stop));
        let expected = [
            true, false, true, false, false, true, false, false, true, false,
        ];
        assert_eq!(shown, expected);
    }
}

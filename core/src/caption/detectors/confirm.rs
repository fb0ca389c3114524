//! Paths of the taxonomy that the detectors confirm.

use super::super::classifier::Placement;
use super::super::standing::MIN_GUESS;
use super::{Detectors, TOLD_OF_A_SUBJECT};
use crate::statements::PartIx;
use crate::taxonomy::{NodeIx, Taxonomy};

impl Detectors {
    /// Moves the stop of a photo's path down to the last node that both the path and a detector support, so that the
    /// answer, the tree and the reply to "why not?" agree. The path supports a node from [`MIN_GUESS`] on, a detector from
    /// [`TOLD_OF_A_SUBJECT`] on, since the answer begins with the path. The nodes down to there, and all above them, become
    /// at least as probable as the detector says. `p` are the probabilities of the parts.
    pub(in super::super) fn confirm(
        &self,
        mut place: Placement,
        taxonomy: &Taxonomy,
        p: &[f64],
    ) -> Placement {
        let words = &self.vocabulary;
        let told = self.told(p);
        let certainty = |ix: NodeIx| {
            let id = taxonomy.node(ix).id.as_str();
            let means = |part: &&PartIx| words.part(**part).node.as_deref() == Some(id);
            let certainty = told.iter().find(means).map(|part| p[part.index()]);
            certainty
                .filter(|p| *p >= TOLD_OF_A_SUBJECT)
                .map(|p| p as f32)
        };
        let steps = &mut place.path.steps;
        let beyond = steps.iter().enumerate().skip(place.path.stop + 1).rev();
        let mut likely = beyond.filter(|(_, (_, p))| f64::from(*p) >= MIN_GUESS);
        let Some((stop, certainty)) = likely.find_map(|(at, (ix, _))| Some((at, certainty(*ix)?)))
        else {
            return place;
        };
        place.path.stop = stop;
        for (ix, on_path) in steps.iter_mut().take(stop + 1) {
            *on_path = on_path.max(certainty);
            for above in taxonomy.ancestors(*ix).iter().chain([&*ix]) {
                let p = &mut place.p[above.index()];
                *p = p.max(certainty);
            }
        }
        place
    }
}

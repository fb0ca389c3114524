//! Concepts that only a dictionary names.

/// Nodes of WordNet 3.0 that a person skips who tells what is on a photo: a bottle is an artifact
/// and a container, and an instrumentality to WordNet alone. They stay in the tree.
const UNSAID: [&str; 24] = [
    "n00020090", // substance
    "n00020827", // matter
    "n01466257", // chordate
    "n01661818", // diapsid
    "n01886756", // placental
    "n01909422", // coelenterate
    "n02232951", // dictyopterous insect
    "n02274024", // lepidopterous insect
    "n02394477", // even-toed ungulate
    "n02401031", // bovid
    "n02470899", // anthropoid ape
    "n03076708", // commodity
    "n03093574", // consumer goods
    "n03100490", // conveyance
    "n03122748", // covering
    "n03257877", // durables
    "n03575240", // instrumentality
    "n03738472", // mechanism
    "n03839993", // obstruction
    "n04170037", // self-propelled vehicle
    "n07566863", // starches
    "n07570720", // nutriment
    "n07710007", // solanaceous vegetable
    "n15046900", // solid
];

/// Whether a node is one that a person skips.
pub(super) fn is_unsaid(id: &str) -> bool {
    UNSAID.binary_search(&id).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_one_is_found() {
        assert!(UNSAID.is_sorted());
        assert!(UNSAID.iter().all(|id| is_unsaid(id)));
        assert!(!is_unsaid("n00015388"), "animal");
    }
}

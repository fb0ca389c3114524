//! The open-vocabulary split of COCO's categories: 48 base categories, which detectors are trained
//! on, and 17 novel ones, which they are not (Bansal et al., 2018). The other 15 are not used.

/// Categories whose boxes are training data.
#[rustfmt::skip]
pub const BASE: [&str; 48] = [
    "person", "bicycle", "car", "motorcycle", "train", "truck", "boat", "bench", "bird", "horse",
    "sheep", "bear", "zebra", "giraffe", "backpack", "handbag", "suitcase", "frisbee", "skis",
    "kite", "surfboard", "bottle", "fork", "spoon", "bowl", "banana", "apple", "sandwich", "orange",
    "broccoli", "carrot", "pizza", "donut", "chair", "bed", "toilet", "tv", "laptop", "mouse",
    "remote", "microwave", "oven", "toaster", "refrigerator", "book", "clock", "vase", "toothbrush",
];

/// Categories without boxes in the training data.
#[rustfmt::skip]
pub const NOVEL: [&str; 17] = [
    "airplane", "bus", "cat", "dog", "cow", "elephant", "umbrella", "tie", "snowboard",
    "skateboard", "cup", "knife", "cake", "couch", "keyboard", "sink", "scissors",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_category_is_in_both() {
        assert!(NOVEL.iter().all(|name| !BASE.contains(name)));
        let all: std::collections::BTreeSet<_> = BASE.iter().chain(&NOVEL).collect();
        assert_eq!(all.len(), 65);
    }
}

//! What every change checks on a few photos, on many.

use crate::page::visit::all_answers_agree;

#[test]
#[ignore = "needs Chromium: cargo xtask test --all"]
fn no_two_parts_of_an_answer_disagree_on_fifty_photos() {
    all_answers_agree(50);
}

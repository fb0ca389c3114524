//! Checks on many photos what the tests of every change check on a few.

use crate::page::visit::all_answers_agree;

#[test]
#[ignore = "needs Chromium: cargo xtask test --all"]
fn no_two_parts_of_an_answer_disagree_on_fifty_photos() {
    all_answers_agree(50);
}

//! Distance of wrong answers from the truth in the taxonomy (notation 6.3).

use espalier_core::taxonomy::NodeIx;
use espalier_io::exit::usage;

use super::classified;
use super::labelled::{self, NEEDS};
use crate::hierarchy;
use crate::task::{BenchmarkData, Context, Task, TaskResult, value_name};
use crate::zero_shot;

/// Tree distances between answers and truth.
pub const TASK: Task = Task {
    name: "hierarchy",
    about: "how far answers are from the truth in the taxonomy: tie, lca, jaccard, precision, recall",
    needs: NEEDS,
    benchmarks: &[BenchmarkData {
        dataset: "imagenet",
        path: "imagenet",
        get: "ImageNet's validation images, one folder per WordNet id below imagenet/; \
              imagenet_isa.txt as --taxonomy, names with --class-names",
    }],
    run,
};

fn run(cx: &Context<'_, '_>) -> anyhow::Result<TaskResult> {
    let mut found = labelled::answers(cx)?;
    let nodes = &found.classes.nodes;
    // The nodes of the best answers and of the true classes, where both have one.
    let paired = |ranked: &[Vec<usize>]| -> (Vec<NodeIx>, Vec<NodeIx>) {
        let answers = ranked.iter().zip(&found.truth);
        answers
            .filter_map(|(ranked, truth)| nodes[*ranked.first()?].zip(nodes[*truth]))
            .unzip()
    };
    let of_texts = paired(&zero_shot::answers(&found.ranked));
    let of_classifier = found.classified.as_ref().map(|c| paired(&c.ranked));
    let evaluated = of_texts.0.len();
    let without_node = (found.truth.len() - evaluated) as u64;
    let without = nodes.iter().filter(|n| n.is_none()).count();
    if evaluated == 0 {
        return Err(usage(format!(
            "--taxonomy: expected nodes with the labels of the images as ids, found none for \
             {without} of {} classes",
            nodes.len()
        )));
    }
    let reason = "true class or answer not in the taxonomy";
    found.coverage.lose(reason, without_node, "");
    found.left_out.insert(reason.to_owned(), without_node);
    let scores = |(predicted, truth): &(Vec<NodeIx>, Vec<NodeIx>)| {
        hierarchy::scores(&found.taxonomy, (predicted, truth), cx.options.tie)
    };
    let mut metrics = scores(&of_texts);
    if let Some(pairs) = of_classifier {
        metrics.extend(classified::with_prefix(scores(&pairs)));
    }
    let mut outcome = found.outcome(cx, evaluated, metrics);
    let path = value_name(&cx.options.tie);
    outcome.settings.insert("tie".to_owned(), path);
    Ok(outcome)
}

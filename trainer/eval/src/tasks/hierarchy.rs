//! Distance of wrong answers from the truth in the taxonomy (notation 6.3).

use espalier_core::taxonomy::NodeIx;
use espalier_io::exit::usage;

use super::classified;
use super::labelled::{self, NEEDS};
use crate::hierarchy;
use crate::task::{BenchmarkData, Context, Task, TaskResult, value_name};

/// Tree distances between answers and truth.
pub struct Hierarchy;

impl Task for Hierarchy {
    fn name(&self) -> &'static str {
        "hierarchy"
    }

    fn about(&self) -> &'static str {
        "how far answers are from the truth in the taxonomy: tie, lca, jaccard, precision, recall"
    }

    fn needs(&self) -> &'static str {
        NEEDS
    }

    fn benchmarks(&self) -> &'static [BenchmarkData] {
        &[BenchmarkData {
            dataset: "imagenet",
            path: "imagenet",
            get: "ImageNet's validation images, one folder per WordNet id below imagenet/; \
                  imagenet_isa.txt as --taxonomy, names with --class-names",
        }]
    }

    fn run(&self, cx: &Context<'_>) -> anyhow::Result<TaskResult> {
        let (mut found, taxonomy) = labelled::answers(cx)?;
        let nodes = &found.classes.nodes;
        let (mut predicted, mut truth): (Vec<NodeIx>, Vec<NodeIx>) = (Vec::new(), Vec::new());
        let mut without_node = 0;
        for (i, class) in found.truth.iter().enumerate() {
            let answer = found
                .ranked
                .items(i)
                .first()
                .and_then(|c| nodes[*c as usize]);
            match (answer, nodes[*class]) {
                (Some(p), Some(t)) => {
                    predicted.push(p);
                    truth.push(t);
                }
                _ => without_node += 1,
            }
        }
        let without = nodes.iter().filter(|n| n.is_none()).count();
        if truth.is_empty() {
            return Err(usage(format!(
                "--taxonomy: expected nodes with the labels of the images as ids, found none for \
                 {without} of {} classes",
                nodes.len()
            )));
        }
        found
            .coverage
            .lose("true class or answer not in the taxonomy", without_node, "");
        found.left_out.insert(
            "true class or answer not in the taxonomy".to_owned(),
            without_node,
        );
        let mut metrics = hierarchy::scores(&taxonomy, (&predicted, &truth), cx.options.tie);
        if let Some(classified) = &found.classified {
            let nodes = &found.classes.nodes;
            let answers = classified.ranked.iter().zip(&found.truth);
            let (predicted, truth): (Vec<NodeIx>, Vec<NodeIx>) = answers
                .filter_map(|(ranked, truth)| nodes[*ranked.first()?].zip(nodes[*truth]))
                .unzip();
            let of_classifier = hierarchy::scores(&taxonomy, (&predicted, &truth), cx.options.tie);
            metrics.extend(classified::with_prefix(of_classifier));
        }
        let mut outcome = found.outcome(cx, &taxonomy, truth.len(), metrics);
        let path = value_name(&cx.options.tie);
        outcome.settings.insert("tie".to_owned(), path);
        Ok(outcome)
    }
}

//! Groups of classes that a classifier confuses.
//!
//! A step compares only a subset of the labels. Classes drawn one by one are mostly easy to
//! separate. Drawing a class together with similar classes trains the model on what separates them
//! (hard negatives).

use burn::tensor::Tensor;
use espalier_data::records::random::Random;
use espalier_eval::tensors::values;

/// Size of a group: a class and those nearest to it.
const GROUP: usize = 8;

/// For each class, the classes of its group, starting with itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Neighbours(Vec<Vec<usize>>);

impl Neighbours {
    /// Groups `classes` by the cosine of their centred classifier rows.
    ///
    /// `rows [all classes, d]`
    pub(super) fn new(rows: Tensor<2>, classes: &[usize]) -> anyhow::Result<Self> {
        let rows = rows.clone() - rows.mean_dim(0);
        let squares = (rows.clone() * rows.clone()).sum_dim(1);
        let rows = rows / squares.sqrt().clamp_min(1e-12);
        let [count, _] = rows.dims();
        let cosines = values(rows.clone().matmul(rows.transpose()))?;
        let group = |class: &usize| {
            let row = &cosines[class * count..][..count];
            let mut nearest = classes.to_vec();
            nearest.sort_by(|a, b| {
                let is_class = (b == class).cmp(&(a == class));
                is_class.then(row[*b].total_cmp(&row[*a]))
            });
            nearest.truncate(GROUP);
            nearest
        };
        Ok(Self(classes.iter().map(group).collect()))
    }

    /// Draws the classes of random groups: at most `limit` classes, but at least one group.
    pub(super) fn draw(&self, limit: usize, random: &mut Random) -> Vec<usize> {
        let mut chosen = std::collections::BTreeSet::new();
        for _ in 0..(limit / GROUP).max(1) {
            let group = random.below(self.0.len() as u32) as usize;
            chosen.extend(self.0.get(group).into_iter().flatten());
        }
        chosen.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};
    use espalier_data::records::random::Purpose;

    use super::*;

    #[test]
    fn a_class_is_grouped_with_similar_classes() {
        // Twelve classes on a circle; class 10 is not a label.
        let angle = |i: usize| std::f32::consts::TAU * i as f32 / 12.0;
        let rows: Vec<f32> = (0..12)
            .flat_map(|i| [angle(i).cos(), angle(i).sin()])
            .collect();
        let rows = Tensor::from_data(TensorData::new(rows, [12, 2]), &Device::flex());
        let classes: Vec<usize> = (0..12).filter(|c| *c != 10).collect();
        let groups = Neighbours::new(rows, &classes).unwrap();
        let first = &groups.0[0];
        assert_eq!((first[0], first.len()), (0, GROUP));
        let near = [1, 2, 3, 9, 11];
        assert!(near.iter().all(|at| first.contains(at)), "{first:?}");
        assert!(!first.contains(&10) && !first.contains(&6));
        let random = &mut Random::new(0, Purpose::SyntheticFeatures, 0, 0);
        let drawn = groups.draw(GROUP, random);
        assert_eq!(drawn.len(), GROUP);
    }
}

//! `trainer plot traversal`.

use espalier_figures::figure::Thumbnail;
use espalier_figures::plot::draw::{self, Shown};
use espalier_figures::plot::photo_parts::PhotoParts;
use espalier_figures::plot::subject::{Subject, read_texts};
use espalier_figures::plot::traversal::{Candidate, Route, Traversal, stops};
use espalier_io::exit::usage;

use super::finish::finish;
use super::inputs;
use crate::cli::plot::TraversalArgs;

/// Default number of images.
const SAMPLES: usize = 500;

/// Allowed number of points on a path.
const STEPS: std::ops::RangeInclusive<usize> = 2..=10_000;

/// Draws the path from a photo to the root or to another photo.
pub(super) fn run(args: &TraversalArgs) -> anyhow::Result<()> {
    let figure = &args.of.figure;
    let output = inputs::output(&figure.file)?;
    inputs::check_range("--steps", STEPS, args.steps)?;
    let subject = inputs::subject(&args.of.model, figure)?;
    let (photo, from) = subject.photo(&args.image)?;
    let end = args.to.as_deref().map(|p| subject.photo(p)).transpose()?;
    let candidates = candidates(args, &subject)?;
    let route = Route {
        from: &from,
        to: end.as_ref().map(|(_, point)| &point[..]),
        steps: args.steps,
        entailment: args.entailment,
    };
    let data = Traversal {
        model: subject.name.clone(),
        from: inputs::file_name(&args.image),
        to: args.to.as_deref().map(inputs::file_name),
        steps: args.steps,
        candidates: candidates.len(),
        entailment: args.entailment,
        stops: stops(&subject.space, &candidates, route),
    };
    let thumbnail = Thumbnail::new(data.from.as_str(), &photo)?;
    let other = match (&end, &data.to) {
        (Some((photo, _)), Some(name)) => Some(Thumbnail::new(name.as_str(), photo)?),
        _ => None,
    };
    let shown = Shown {
        from: &thumbnail,
        to: other.as_ref(),
        candidates: &candidates,
    };
    let canvas = draw::traversal(&data, &shown, figure.file.theme);
    let mut summary = vec![format!(
        "from {} to {}, {} candidates",
        data.from,
        data.to.as_deref().unwrap_or("the root"),
        data.candidates
    )];
    summary.extend(data.stops.iter().map(|s| {
        let percent = 100.0 * s.share;
        format!("  {percent:3.0} %  radius {:.3}  {}", s.radius, s.name)
    }));
    finish(figure.common.json, &output, &canvas, &data, &summary)
}

/// Returns the candidates: the texts of the flag, else of the data, else of the bundle; with
/// `--with-images` also the images and boxes of the data.
fn candidates(args: &TraversalArgs, subject: &Subject) -> anyhow::Result<Vec<Candidate>> {
    let mut texts = match &args.texts {
        Some(file) => read_texts(file)?,
        None => Vec::new(),
    };
    let mut images = Vec::new();
    if inputs::has_data(&args.data) {
        let (thumbnails, seed) = (args.images, args.of.figure.seed);
        let scenes = inputs::read_scenes(subject, &args.data, SAMPLES, thumbnails, seed)?;
        if args.texts.is_none() {
            texts.extend(texts_of(&scenes));
        }
        if args.images {
            images = image_candidates(scenes);
        }
    } else if args.images {
        return Err(usage(
            "--with-images: expected --data, whose images become candidates, found none",
        ));
    }
    if texts.is_empty() && images.is_empty() {
        texts.clone_from(&subject.captions);
    }
    let mut seen = std::collections::BTreeSet::new();
    texts.retain(|t| seen.insert(t.clone()));
    if texts.is_empty() && images.is_empty() {
        return Err(usage(format!(
            "expected candidates, found none: {} has no captions; give --texts FILE or --data PATH",
            args.of.model.display()
        )));
    }
    let points = subject.texts(&texts)?;
    let of_text = |(name, point)| Candidate {
        name,
        point,
        thumbnail: None,
    };
    let mut all: Vec<Candidate> = texts.into_iter().zip(points).map(of_text).collect();
    all.extend(images);
    Ok(all)
}

fn texts_of(scenes: &[PhotoParts]) -> Vec<String> {
    let each = scenes.iter().flat_map(|s| {
        let phrases = s.boxes.iter().map(|b| b.phrase.clone());
        std::iter::once(s.caption.clone()).chain(phrases)
    });
    each.filter(|t| !t.trim().is_empty()).collect()
}

fn image_candidates(scenes: Vec<PhotoParts>) -> Vec<Candidate> {
    let mut out = Vec::new();
    for scene in scenes {
        for part in scene.boxes {
            out.push(Candidate {
                name: format!("{} in {}", part.phrase, scene.key),
                point: part.image,
                thumbnail: part.thumbnail,
            });
        }
        out.push(Candidate {
            name: format!("image {}", scene.key),
            point: scene.image,
            thumbnail: scene.thumbnail,
        });
    }
    out
}

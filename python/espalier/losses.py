"""The losses of the nine training methods on arrays, with their terms and their gradients.

Points are points of the space: unit vectors for `clip`, `re`, `ec` and `rcme`, space parts of the Lorentz
model for `meru`, `hycoclip`, `atmg` and `parts`, factor after factor for `phyclip`
(`espalier.geometry.exp_map0` lifts features). `c` is minus the curvature, and `scale` the factor on the
logits, `1 / temperature`. With `gradients=True` the result has the gradients of the total by all arrays,
by `c` and by `scale`. Rows of equal index belong together. Weights have their published values by
default; the formulas are in `docs/notation.md`, section 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _native
from ._arrays import Floats, cast, positive, precision

__all__ = [
    "SCALE",
    "Loss",
    "atmg",
    "clip",
    "ec",
    "hycoclip",
    "meru",
    "parts",
    "parts_euclidean",
    "phyclip",
    "rcme",
    "re",
]

SCALE = 1 / 0.07
"""Factor on the logits at the start of training."""


@dataclass(frozen=True)
class Loss:
    """A loss: the number to minimise, its terms by name, and the gradients of the total by name."""

    total: float
    terms: dict[str, float]
    gradients: dict[str, Floats]


def _cast(**arrays: ArrayLike | None) -> tuple[Any, dict[str, Any]]:
    """Returns arrays in their common precision, which comes first."""
    given = {name: array for name, array in arrays.items() if array is not None}
    dtype = precision(*given.values())
    found = {name: cast(name, array, dtype) for name, array in given.items()}
    return dtype, {name: found.get(name) for name in arrays}


def _one(name: str, value: float, dtype: Any) -> Floats:
    return positive(name, value, dtype).reshape(1)


def clip(
    images: ArrayLike, texts: ArrayLike, *, scale: float = SCALE, gradients: bool = False
) -> Loss:
    """CLIP: the contrastive loss of cosines in both directions (notation 2.1)."""
    dtype, a = _cast(images=images, texts=texts)
    return Loss(*_native.clip(a["images"], a["texts"], _one("scale", scale, dtype), gradients))


def meru(
    images: ArrayLike,
    texts: ArrayLike,
    *,
    c: float = 1.0,
    scale: float = SCALE,
    entail: float = 0.2,
    literal_eps: float | None = None,
    gradients: bool = False,
) -> Loss:
    """MERU: contrast of distances, and images in the cones of their texts (notation 2.2).

    `entail` is the weight of the cones. `literal_eps` selects the published formula of the angles
    with this `eps`, which is unstable in float32.
    """
    dtype, a = _cast(images=images, texts=texts)
    numbers = _one("c", c, dtype), _one("scale", scale, dtype)
    return Loss(
        *_native.meru(a["images"], a["texts"], *numbers, entail, literal_eps, gradients)
    )


def hycoclip(
    images: ArrayLike,
    texts: ArrayLike,
    box_images: ArrayLike,
    box_texts: ArrayLike,
    *,
    c: float = 1.0,
    scale: float = SCALE,
    eta_inter: float = 0.7,
    eta_intra: float = 1.2,
    entail: float = 0.2,
    literal_eps: float | None = None,
    gradients: bool = False,
) -> Loss:
    """HyCoCLIP: MERU with crops and phrases, which are more general than the wholes (notation 2.3).

    `eta_inter` and `eta_intra` are the factors on the apertures between and within the modalities.
    """
    dtype, a = _cast(images=images, texts=texts, box_images=box_images, box_texts=box_texts)
    points = (a["images"], a["texts"], a["box_images"], a["box_texts"])
    weights = (eta_inter, eta_intra, entail, literal_eps)
    numbers = _one("c", c, dtype), _one("scale", scale, dtype)
    return Loss(*_native.hycoclip(points, *numbers, weights, gradients))


def phyclip(
    images: ArrayLike,
    texts: ArrayLike,
    box_images: ArrayLike,
    box_texts: ArrayLike,
    *,
    c: ArrayLike,
    join: str = "l1",
    scale: float = SCALE,
    eta_inter: float = 0.7,
    eta_intra: float = 1.2,
    entail: float = 0.2,
    literal_eps: float | None = None,
    gradients: bool = False,
) -> Loss:
    """PHyCLIP: HyCoCLIP in a product of factors, whose curvatures are `c` (notation 2.4)."""
    dtype, a = _cast(images=images, texts=texts, box_images=box_images, box_texts=box_texts)
    points = (a["images"], a["texts"], a["box_images"], a["box_texts"])
    options = (join, (eta_inter, eta_intra, entail, literal_eps))
    curvatures = positive("c", c, dtype).reshape(-1)
    scales = _one("scale", scale, dtype)
    return Loss(*_native.phyclip(points, curvatures, scales, options, gradients))


def atmg(
    images: ArrayLike,
    texts: ArrayLike,
    *,
    c: float = 1.0,
    scale: float = SCALE,
    image_apex: str = "maximised",
    centroid: float = 0.0,
    gradients: bool = False,
) -> Loss:
    """ATMG: a contrastive loss of angles, with a radius for each modality (notation 2.8).

    `centroid` is the weight of the radii, of which no value is published. `image_apex` is `maximised`
    or `minimised`, the direction in which the angle at an image is trained.
    """
    dtype, a = _cast(images=images, texts=texts)
    numbers = _one("c", c, dtype), _one("scale", scale, dtype)
    return Loss(
        *_native.atmg(a["images"], a["texts"], *numbers, image_apex, centroid, gradients)
    )


def parts(
    wholes: ArrayLike,
    parts: ArrayLike,
    pairs: ArrayLike,
    entails: ArrayLike | None = None,
    *,
    c: float = 1.0,
    scale: float = SCALE,
    gradients: bool = False,
) -> Loss:
    """Visual hierarchies: wholes and their parts, without texts, in the Lorentz model (notation 2.9).

    `pairs` `[n, m]` says which parts belong to which wholes; `entails` has all known relations, which
    are never negatives, and is `pairs` by default.
    """
    dtype, a = _cast(wholes=wholes, parts=parts)
    numbers = _one("c", c, dtype), _one("scale", scale, dtype)
    relations = _relations(pairs, entails)
    return Loss(*_native.parts(a["wholes"], a["parts"], *relations, *numbers, gradients))


def parts_euclidean(
    wholes: ArrayLike,
    parts: ArrayLike,
    pairs: ArrayLike,
    entails: ArrayLike | None = None,
    *,
    scale: float = SCALE,
    gradients: bool = False,
) -> Loss:
    """Visual hierarchies by Euclidean angles about zero (notation 2.9); arguments as for `parts`."""
    dtype, a = _cast(wholes=wholes, parts=parts)
    relations, scales = _relations(pairs, entails), _one("scale", scale, dtype)
    return Loss(*_native.parts(a["wholes"], a["parts"], *relations, None, scales, gradients))


def _relations(pairs: ArrayLike, entails: ArrayLike | None) -> tuple[Floats, Floats]:
    trained = cast("pairs", pairs, np.float32)
    known = trained if entails is None else cast("entails", entails, np.float32)
    return trained, np.maximum(trained, known) if trained.shape == known.shape else known


def re(
    positives: ArrayLike,
    negatives: ArrayLike,
    root: ArrayLike,
    frozen: ArrayLike | None = None,
    *,
    mined: float = 1.0,
    pull_back: float = 10.0,
    negative: float = 1.0,
    gradients: bool = False,
) -> Loss:
    """RE: chains of texts, ordered by their angles about a root (notation 2.5).

    `positives` and `negatives` are `[b, n, d]`, from general to specific; negative `i` contradicts
    positive `i`. `root` is `[d]`. `frozen` `[2 b n, d]` are the embeddings of the positives and then
    of the negatives by the model before training; without it there is no pull-back. `mined`,
    `pull_back` and `negative` are weights.
    """
    weights = (mined, pull_back, negative)
    return _radial(positives, negatives, root, frozen, None, weights, gradients)


def ec(
    positives: ArrayLike,
    negatives: ArrayLike,
    root: ArrayLike,
    frozen: ArrayLike | None = None,
    *,
    margin: float = 0.0,
    margin_side: str = "outside",
    mined: float = 1.0,
    pull_back: float = 10.0,
    negative: float = 1.0,
    gradients: bool = False,
) -> Loss:
    """EC: RE with cones (notation 2.6); `margin` in radians, `margin_side` `outside` or `inside`."""
    weights = (mined, pull_back, negative)
    cone = (margin, margin_side)
    return _radial(positives, negatives, root, frozen, cone, weights, gradients)


def _radial(
    positives: ArrayLike,
    negatives: ArrayLike,
    root: ArrayLike,
    frozen: ArrayLike | None,
    cone: tuple[float, str] | None,
    weights: tuple[float, float, float],
    gradients: bool,
) -> Loss:
    _, a = _cast(positives=positives, negatives=negatives, root=root, frozen=frozen)
    loss = _native.radial(
        a["positives"], a["negatives"], _row(a["root"]), a["frozen"], cone, weights, gradients
    )
    return _with_root(Loss(*loss), a["root"])


def rcme(
    texts: ArrayLike,
    negatives: ArrayLike,
    root: ArrayLike,
    images: ArrayLike | None = None,
    frozen: ArrayLike | None = None,
    *,
    scale: float = SCALE,
    root_mode: str = "root",
    margin: float = math.pi / 2,
    global_weight: float = 1.0,
    local_weight: float = 1.0,
    beta: float = 1.0,
    prior: float = 1.0,
    gradients: bool = False,
) -> Loss:
    """RCME: order along the ranks of a lineage, with images at the last rank (notation 2.7).

    `texts` are `[b, n, d]`, `negatives` `[b, n - 1, d]` at the depth of the child, below a sibling.
    `root` is `[d]`. `images` are `[b, d]`; `beta` is the weight of their contrastive term. `frozen`
    `[b (2 n - 1), d]` are the embeddings of a frozen model, weighted by `prior`. Angles start at the
    `root`, or at the `parent` of the apex (`root_mode`).
    """
    dtype, a = _cast(texts=texts, negatives=negatives, root=root, images=images, frozen=frozen)
    options = (root_mode, (margin, global_weight, local_weight, beta, prior))
    loss = _native.rcme(
        a["texts"],
        a["negatives"],
        _row(a["root"]),
        a["images"],
        a["frozen"],
        _one("scale", scale, dtype),
        options,
        gradients,
    )
    return _with_root(Loss(*loss), a["root"])


def _row(root: Floats) -> Floats:
    return root[None] if root.ndim == 1 else root


def _with_root(loss: Loss, root: Floats) -> Loss:
    """Gives the gradient by the root the shape of the root."""
    if "root" in loss.gradients:
        loss.gradients["root"] = loss.gradients["root"].reshape(root.shape)
    return loss

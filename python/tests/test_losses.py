"""Losses: values and gradients against an independent implementation (`tests/golden/losses.tsv`)."""

from __future__ import annotations

import math

import numpy as np
import pytest

import espalier
from espalier import losses
from espalier.geometry import exp_map0

from conftest import ROOT

B, D, K = 32, 64, 8


def numbers(seed: int, count: int) -> np.ndarray:
    """The counterpart of `numbers` in `tests/golden/gen_losses.py`."""
    at = np.arange(count, dtype=np.float64)
    wave = np.sin(at * 12.9898 + seed * 78.233) * 437.585453
    return 2 * (wave - np.floor(wave)) - 1


def unit(v: np.ndarray) -> np.ndarray:
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def golden() -> list[tuple[int, str, list[float]]]:
    lines = (ROOT / "tests/golden/losses.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")][1:]
    return [(seed, row[0], [float(f) for f in row[1:]]) for seed, row in enumerate(rows)]


def relations() -> np.ndarray:
    i, j = np.indices((B, B))
    return (i == j) | ((7 * i + 3 * j) % 11 == 0)


def loss(name: str, v: np.ndarray, c: float, **options: bool) -> losses.Loss:
    """Computes a loss of the table from its features `[4, 32, 64]`."""
    root = unit(numbers(99, D))
    lifted = lambda: [exp_map0(part, c) for part in v]
    if name == "clip":
        return losses.clip(unit(v[0]), unit(v[1]), **options)
    if name == "meru":
        return losses.meru(*lifted()[:2], c=c, **options)
    if name == "hycoclip":
        return losses.hycoclip(*lifted(), c=c, **options)
    if name.startswith("phyclip"):
        cs = c * (0.5 + 1.5 * np.arange(K) / (K - 1))
        split = v.reshape(4, B, K, D // K)
        points = exp_map0(split, cs).reshape(4, B, D)
        return losses.phyclip(*points, c=cs, join=name[-2:], **options)
    if name == "atmg":
        return losses.atmg(*lifted()[:2], c=c, centroid=0.3, **options)
    if name == "parts":
        return losses.parts(*lifted()[:2], relations(), c=c, **options)
    if name == "parts_euclidean":
        return losses.parts_euclidean(v[0], v[1], relations(), **options)
    if name in ("re", "ec"):
        chains = [unit(part).reshape(B // 4, 4, D) for part in v[:2]]
        frozen = unit(numbers(98, 2 * B * D).reshape(2 * B, D))
        if name == "re":
            return losses.re(*chains, root, frozen, **options)
        return losses.ec(*chains, root, frozen, margin=math.pi / 8, **options)
    texts, negatives = (unit(part).reshape(B // 8, 8, D) for part in v[:2])
    images = unit(v[2][: B // 8])
    mode = name.removeprefix("rcme_")
    return losses.rcme(texts[:, :7], negatives[:, :6], root, images, root_mode=mode, **options)


@pytest.mark.parametrize(("seed", "name", "known"), golden())
def test_values_agree_with_another_implementation(seed, name, known):
    c = max(known[0], 1e-3)
    v = 0.2 * numbers(seed, 4 * B * D).reshape(4, B, D)
    found = loss(name, v, c)
    # PHyCLIP's published angle adds 1e-6 to its denominator, the stable form does not.
    tolerance = 1e-5 if name.startswith("phyclip") else 1e-7
    assert found.total == pytest.approx(known[1], rel=tolerance)
    assert found.gradients == {}
    single = loss(name, v.astype(np.float32), c)
    assert single.total == pytest.approx(known[1], rel=1e-4)


@pytest.mark.parametrize("name", sorted({name for _, name, _ in golden()}))
def test_gradients_are_the_slopes_of_the_total(name):
    """A step along an input changes the total as its gradient says."""
    v, c = 0.2 * numbers(5, 4 * B * D).reshape(4, B, D), 0.7
    root = unit(numbers(99, D))
    whole = loss(name, v, c, gradients=True)
    assert whole.gradients and all(np.isfinite(g).all() for g in whole.gradients.values())
    points = [exp_map0(part, c) for part in v]
    if name == "meru":
        total = lambda x, **k: losses.meru(x, points[1], c=k.get("c", c), gradients=True)
        x = points[0]
        step = np.random.default_rng(0).normal(size=x.shape) * 1e-6
        slope = (total(x + step).total - total(x - step).total) / 2
        assert slope == pytest.approx((total(x).gradients["images"] * step).sum(), rel=1e-5)
        by_c = (total(x, c=c + 1e-6).total - total(x, c=c - 1e-6).total) / 2e-6
        assert by_c == pytest.approx(total(x).gradients["c"][0], rel=1e-5)
    if name == "re":
        chains = [unit(part).reshape(B // 4, 4, D) for part in v[:2]]
        total = lambda r: losses.re(*chains, r, gradients=True)
        step = np.random.default_rng(0).normal(size=D) * 1e-6
        slope = (total(root + step).total - total(root - step).total) / 2
        assert total(root).gradients["root"].shape == (D,)
        assert slope == pytest.approx((total(root).gradients["root"] * step).sum(), rel=1e-4)
    if name == "clip":
        x, y = unit(v[0]), unit(v[1])
        total = lambda x, scale: losses.clip(x, y, scale=scale, gradients=True)
        by_scale = (total(x, 10.001).total - total(x, 9.999).total) / 0.002
        assert total(x, 10.0).gradients["scale"][0] == pytest.approx(by_scale, rel=1e-5)
        gradient = total(x.astype(np.float32), 10.0).gradients["images"]
        np.testing.assert_allclose(gradient, total(x, 10.0).gradients["images"], atol=1e-6)


def test_terms_have_the_names_of_the_log():
    v = 0.2 * numbers(0, 4 * B * D).reshape(4, B, D)
    found = loss("hycoclip", v, 1.0)
    assert found.total == pytest.approx(found.terms["contrastive"] + 0.2 * found.terms["entail"])
    assert {"entail_text_image", "entail_box_image_image"} <= found.terms.keys()
    half = losses.hycoclip(*(exp_map0(p) for p in v), entail=0.1)
    assert half.total == pytest.approx(found.total - 0.1 * found.terms["entail"])


X = np.ones((3, 4), np.float32)


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (lambda: losses.clip(X, X[:2]), r"texts: expected shape \[3, 4\], that of images, found \[2, 4\]"),
        (lambda: losses.clip(X[0], X[0]), "images: expected an array of 2 dimensions"),
        (lambda: losses.clip(X, X, scale=0), "scale: expected positive numbers, found 0"),
        (lambda: losses.meru(X, X, c=-1), "c: expected positive numbers, found -1"),
        (lambda: losses.phyclip(X, X, X, X, c=[1, 1, 1]), "c: expected one curvature for each factor"),
        (lambda: losses.phyclip(X, X, X, X, c=[1, 1], join="l3"), "expected l1 or l2, found l3"),
        (lambda: losses.atmg(X, X, image_apex="up"), "image_apex: expected maximised or minimised"),
        (lambda: losses.parts(X, X, np.eye(2)), r"pairs: expected shape \[3, 3\]"),
        (lambda: losses.parts(X, X[:, :2], np.eye(3)), "parts: expected shape"),
        (lambda: losses.re(X[None, :1], X[None, :1], X[0]), "chains of at least 2 tiers"),
        (lambda: losses.re(X[None], X[None], X[0, :2]), r"root: expected shape \[1, 4\]"),
        (lambda: losses.ec(X[None], X[None], X[0], margin_side="in"), "margin_side: expected outside"),
        (lambda: losses.rcme(X[None], X[None], X[0]), r"negatives: expected shape \[1, 2, 4\]"),
        (lambda: losses.rcme(X[None], X[None, :2], X[0], root_mode="up"), "root_mode: expected root"),
    ],
)
def test_inputs_that_do_not_fit_are_refused_in_words(work, said):
    with pytest.raises(espalier.UsageError, match=said):
        work()

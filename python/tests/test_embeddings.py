"""Embeddings: those of the command line and of other programs, moved into NumPy, in any batches."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import espalier

from conftest import ROOT, TINY, call

# Single precision: the kernels add in another order than the training backend.
TOLERANCE = 2e-5


def embeddings(file: Path) -> np.ndarray:
    """Reads the tensor `embeddings` of a safetensors file."""
    data = file.read_bytes()
    size = int.from_bytes(data[:8], "little")
    entry = json.loads(data[8 : 8 + size])["embeddings"]
    start, end = entry["data_offsets"]
    found = np.frombuffer(data[8 + size + start : 8 + size + end], np.float32)
    return found.reshape(entry["shape"])


def near(found: np.ndarray, known: np.ndarray) -> None:
    assert found.shape == known.shape
    assert np.abs(found - known).max() < TOLERANCE * np.abs(known).max()


def test_images_are_embedded_as_by_the_command_line(tiny, samples, tmp_path):
    out = tmp_path / "e.safetensors"
    done = call("embed", "--model", TINY, "--images", samples[0].parent, "--out", out)
    assert done.returncode == 0, done.stderr
    near(tiny.encode_image(samples), embeddings(out))


def test_texts_are_embedded_as_by_the_command_line(tiny, tmp_path):
    texts = ["a cat", "two dogs on a beach", "", "Ünïcode 日本"]
    lines, out = tmp_path / "texts.txt", tmp_path / "e.safetensors"
    lines.write_text("\n".join(texts) + "\n", encoding="utf-8")
    done = call("embed", "--model", TINY, "--texts", lines, "--out", out)
    assert done.returncode == 0, done.stderr
    near(tiny.encode_text(texts), embeddings(out))


@pytest.mark.parametrize("name", ["clip.pth", "meru.pth", "phyclip.pth", "hf", "open_clip"])
def test_checkpoints_of_other_programs_give_their_features(imported, name):
    known = json.loads(
        (ROOT / "tests/golden/checkpoints" / f"{name.removesuffix('.pth')}.json").read_text()
    )
    model = espalier.open(imported(name))
    side = model.image_size
    images = np.array(known["images"], np.uint8).reshape(-1, side, side, 3)
    near(model.encode_image(images), np.array(known["image"], np.float32))


def test_results_belong_to_numpy_and_are_not_copies_of_a_buffer(tiny, samples):
    for found in (tiny.encode_image(samples[:2]), tiny.encode_text(["a", "b"])):
        assert found.dtype == np.float32 and found.shape == (2, tiny.width)
        assert found.flags.c_contiguous and found.flags.writeable
        # The memory that Rust filled is what NumPy holds: its owner is an object of Rust.
        assert not found.flags.owndata and type(found.base).__name__ == "PySliceContainer"
        found += 1.0


def test_any_batches_and_threads_give_the_same_rows(tiny, samples):
    whole = tiny.encode_image(samples)
    for options in ({"batch_size": 1}, {"batch_size": 3, "threads": 2}, {"threads": 1}):
        assert np.array_equal(tiny.encode_image(samples, **options), whole), options
    assert np.array_equal(tiny.encode_image(samples[2])[0], whole[2])
    texts = [f"a photo of {n} things" for n in range(7)]
    rows = tiny.encode_text(texts)
    for options in ({"batch_size": 2}, {"threads": 1}):
        np.testing.assert_allclose(tiny.encode_text(texts, **options), rows, atol=1e-6)
    assert tiny.encode_text("a photo of 3 things").shape == (1, tiny.width)


def test_nothing_gives_no_rows(tiny):
    assert tiny.encode_image([]).shape == (0, tiny.width)
    assert tiny.encode_text([]).shape == (0, tiny.width)


def test_features_become_points_by_the_lift_of_the_space(imported, samples):
    model = espalier.open(imported("meru.pth"))
    assert model.space.kind == "lorentz" and model.method == "meru"
    [c] = model.space.curvatures
    features = model.encode_image(samples, lift=False)
    points = model.encode_image(samples)
    # The lift scales features by a learned number, then applies the exponential map.
    tangents = espalier.geometry.log_map0(points, c)
    ratio = tangents / features
    assert np.abs(ratio / ratio.mean() - 1).max() < 1e-3
    near(espalier.geometry.exp_map0(tangents, c), points)


def test_radii_and_logits_are_those_of_the_space(tiny, samples):
    images, texts = tiny.encode_image(samples), tiny.encode_text(["a cat", "a car", "a thing"])
    logits = tiny.logits(images, texts)
    assert logits.shape == (8, 3) and logits.dtype == np.float64
    space = tiny.space
    np.testing.assert_allclose(logits, tiny.logit_scale * space.pairwise_logit(images, texts))
    np.testing.assert_allclose(tiny.radius(texts), space.radius(texts))
    assert tiny.radius(texts[0]).shape == ()
    result = tiny.caption(samples[0])
    # A rung's radius is that of its caption's point.
    assert min(r["radius"] for r in result["ladder"]) > 0


def test_the_model_says_what_it_is(tiny):
    known = json.loads((TINY / "manifest.json").read_text())
    assert tiny.method == known["method"] and tiny.path == TINY
    assert tiny.config["d_embed"] == tiny.width == known["model"]["d_embed"]
    assert tiny.space.to_dict()["kind"] == tiny.space.kind
    assert len(tiny.sha256) == 64 and "Model(" in repr(tiny)

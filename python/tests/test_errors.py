"""Exceptions: their classes, their words, and that bad input of any kind is one of them."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import espalier

from conftest import ROOT, TINY, assert_refused


def test_exceptions_are_those_that_programs_catch():
    assert issubclass(espalier.UsageError, (espalier.Error, ValueError))
    assert issubclass(espalier.DataError, ValueError)
    codes = [espalier.Error, espalier.UsageError, espalier.DataError, espalier.RefusedError]
    assert [error.exit_code for error in codes] == [1, 2, 2, 3]


def test_a_path_without_a_model_is_refused_in_the_words_of_the_command_line(words, samples, tmp_path):
    for path in (tmp_path / "none", tmp_path):
        said = words("caption", "--model", path, samples[0])
        assert_refused(said, espalier.open, path)


def test_a_model_is_opened_by_its_short_name(monkeypatch):
    monkeypatch.chdir(ROOT / "static")
    assert espalier.open("default", offline=True).width == espalier.open("models/default").width


def test_a_damaged_bundle_is_refused_in_the_words_of_the_command_line(words, samples, tmp_path):
    bundle = tmp_path / "bundle"
    shutil.copytree(TINY, bundle)
    weights = bundle / "image.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    said = words("caption", "--model", bundle, samples[0])
    with pytest.raises(espalier.Error) as caught:
        espalier.open(bundle)
    assert str(caught.value) == said
    (bundle / "manifest.json").write_text("{}")
    with pytest.raises(espalier.DataError, match="manifest.json"):
        espalier.open(bundle)


def test_a_photo_that_cannot_be_read_is_refused_in_the_words_of_the_command_line(
    tiny, words, tmp_path
):
    text = tmp_path / "text.jpg"
    text.write_text("not a photo")
    for photo in (tmp_path / "none.jpg", text):
        said = words("caption", "--model", TINY, photo)
        for work in (tiny.caption, tiny.encode_image):
            assert_refused(said, work, photo)
    with pytest.raises(espalier.UsageError, match=r"^photo 1: image: "):
        tiny.encode_image([np.zeros((4, 4, 3), np.uint8), b"no photo"])


def test_a_region_and_a_node_are_refused_in_the_words_of_the_command_line(tiny, words, samples):
    photo = samples[0]
    said = words("caption", "--model", TINY, photo, "--below", "nothing")
    assert_refused(said, tiny.caption, photo, below="nothing")
    said = words("caption", "--model", TINY, photo, "--region", "0.5,0,0.2,1")
    assert_refused(said, tiny.caption, photo, region=[0.5, 0, 0.2, 1])


@pytest.mark.parametrize(
    ("photo", "said"),
    [
        (3, "expected a path, bytes, an image of Pillow"),
        (None, "expected a path"),
        ([None], "photo 0: expected a path"),
        (np.zeros((4, 4, 3)), r"expected pixels of uint8 \[height, width, 3\], found float64"),
        (np.zeros((4, 4), np.uint8), r"expected pixels of shape \[height, width, 3\], found \[4, 4\]"),
        (np.zeros((4, 4, 4), np.uint8), "found \\[4, 4, 4\\]"),
        (np.zeros((0, 4, 3), np.uint8), "found \\[0, 4, 3\\]"),
        (b"", "image"),
    ],
)
def test_what_is_no_photo_is_refused(tiny, photo, said):
    with pytest.raises(espalier.UsageError, match=said):
        tiny.encode_image(photo)


def test_texts_that_are_no_texts_are_type_errors(tiny):
    with pytest.raises(TypeError):
        tiny.encode_text([b"bytes"])
    with pytest.raises(TypeError):
        tiny.encode_text(3)


def test_points_of_another_width_are_refused(tiny):
    with pytest.raises(espalier.UsageError, match=f"an array .*{tiny.width}"):
        tiny.logits(np.zeros((2, 3)), np.zeros((2, 3)))
    with pytest.raises(espalier.UsageError, match="expected points"):
        tiny.radius(np.zeros((2, 3)))


def test_numbers_of_threads_and_batches_are_checked(tiny, samples):
    with pytest.raises(espalier.UsageError, match="threads: expected a positive number"):
        tiny.encode_image(samples[:1], threads=0)
    with pytest.raises(OverflowError):
        tiny.encode_image(samples[:1], threads=-1)
    assert tiny.encode_image(samples[:1], batch_size=0).shape[0] == 1

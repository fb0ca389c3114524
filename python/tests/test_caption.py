"""Captions are those of the command line, whatever form a photo has."""

from __future__ import annotations

import io
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import espalier

from conftest import ROOT, TINY, assert_refused


def same(found: Any, known: Any) -> None:
    """Compares results except for the times."""
    left = {key: value for key, value in found.items() if key != "timing_ms"}
    right = {key: value for key, value in known.items() if key != "timing_ms"}
    assert left == right
    assert set(found["timing_ms"]) == set(known["timing_ms"])


def test_captions_are_those_of_the_command_line(tiny, samples, trainer):
    known = trainer("caption", "--model", TINY, *samples)
    found = tiny.caption(samples)
    assert len(found) == len(known) == 8
    for ours, theirs in zip(found, known):
        same(ours, theirs)
    assert found[0]["file"] == str(samples[0])


def test_one_photo_gives_one_result_and_a_list_gives_a_list(tiny, samples):
    one = tiny.caption(samples[0])
    assert isinstance(one, dict) and one["ladder"][0]["text"]
    assert [r["ladder"] for r in tiny.caption([samples[0]])] == [one["ladder"]]
    assert tiny.caption([]) == []
    assert len(tiny.caption(path for path in samples[:2])) == 2


def test_rungs_go_from_general_to_specific_and_p_never_grows(tiny, samples):
    for result in tiny.caption(samples):
        radii = [rung["radius"] for rung in result["ladder"]]
        assert radii == sorted(radii)
        p = [step["p"] for step in result["taxonomy"]["path"]]
        assert p == sorted(p, reverse=True)
        assert result["taxonomy"]["stop"] in [s["id"] for s in result["taxonomy"]["path"]]


def test_a_region_and_a_node_are_those_of_the_command_line(tiny, samples, trainer):
    taxonomy = tiny.taxonomy
    node = taxonomy.path(taxonomy.labels[0])[1].id
    arguments = ["--region", "0.1,0.2,0.8,0.9", "--below", node]
    [known] = trainer("caption", "--model", TINY, samples[3], *arguments)
    found = tiny.caption(samples[3], region=[0.1, 0.2, 0.8, 0.9], below=node)
    same(found, known)


def test_the_bytes_of_a_file_give_its_result_without_a_name(tiny, samples):
    of_file, data = tiny.caption(samples[1]), samples[1].read_bytes()
    for form in (data, bytearray(data), memoryview(data)):
        found = tiny.caption(form)
        assert "file" not in found
        assert found["ladder"] == of_file["ladder"] and found["image"] == of_file["image"]


def test_pixels_of_an_array_give_the_result_of_a_lossless_file(tiny, samples, tmp_path):
    with Image.open(samples[2]) as opened:
        pixels = np.asarray(opened.convert("RGB"))
    file = tmp_path / "lossless.png"
    Image.fromarray(pixels).save(file)
    of_file, of_array = tiny.caption(file), tiny.caption(pixels)
    assert of_array["ladder"] == of_file["ladder"]
    assert of_array["taxonomy"] == of_file["taxonomy"]
    assert of_array["image"]["width"] == pixels.shape[1]
    # Whatever the layout in memory.
    mirrored = np.ascontiguousarray(pixels[:, ::-1])[:, ::-1]
    assert tiny.caption(mirrored)["ladder"] == of_file["ladder"]


@pytest.mark.parametrize("orientation", range(1, 9))
def test_pillow_images_are_turned_upright_as_files_are(tiny, orientation):
    with Image.open(ROOT / f"tests/golden/pictures/exif-{orientation}.jpg") as opened:
        lossless = io.BytesIO()
        # A file with the same pixels and the same flag.
        opened.convert("RGB").save(lossless, "PNG", exif=opened.getexif())
        with Image.open(lossless) as image:
            of_pillow = tiny.caption(image)
    of_file = tiny.caption(lossless.getvalue())
    assert of_pillow["ladder"] == of_file["ladder"]
    assert of_pillow["image"]["width"] == of_file["image"]["width"]


@pytest.mark.parametrize(
    "name",
    [
        "grey.png",
        "grey-16bit.png",
        "grey-alpha.png",
        "grey-1bit.png",
        "palette.bmp",
        "lossless-alpha.webp",
        "clear.gif",
    ],
)
def test_pillow_images_of_every_mode_are_read_as_their_files(tiny, name):
    path = ROOT / "tests/golden/pictures" / name
    of_file = tiny.caption(path)
    with Image.open(path) as image:
        of_pillow = tiny.caption(image)
    assert of_pillow["ladder"] == of_file["ladder"], image.mode


def test_a_batch_of_pixels_is_several_photos(tiny):
    batch = np.zeros((3, 40, 50, 3), np.uint8)
    assert len(tiny.caption(batch)) == 3
    assert tiny.encode_image(batch).shape == (3, tiny.width)


def test_any_number_of_threads_gives_the_same_results(tiny, samples):
    one = tiny.caption(samples, threads=1)
    for found in (tiny.caption(samples, threads=3), tiny.caption(samples, batch_size=2)):
        assert [r["ladder"] for r in found] == [r["ladder"] for r in one]


def test_a_model_serves_several_threads_of_python(samples):
    model = espalier.open(TINY)
    expected = model.caption(samples[0])["ladder"]
    found: list[Any] = []
    work = [threading.Thread(target=lambda: found.append(model.caption(samples[0]))) for _ in range(4)]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert [result["ladder"] for result in found] == [expected] * 4


def test_a_broken_photo_stops_or_is_reported_among_the_others(tiny, samples, tmp_path, trainer):
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(samples[0].read_bytes()[:500])
    photos = [samples[0], broken, samples[1]]
    with pytest.raises(espalier.UsageError, match="broken.jpg"):
        tiny.caption(photos)
    found = tiny.caption(photos, on_error="return")
    assert found[1]["file"] == str(broken) and "broken.jpg" in found[1]["error"]
    assert found[2]["ladder"] == tiny.caption(samples[1])["ladder"]
    with pytest.raises(espalier.UsageError, match="on_error: expected raise or return"):
        tiny.caption(photos, on_error="skip")


def test_taught_concepts_and_captions_of_a_bundle_are_refused_as_on_the_command_line(
    words, samples, tmp_path
):
    captions = tmp_path / "captions.txt"
    captions.write_text("a cat\n")
    said = words("caption", "--model", TINY, "--captions", captions, samples[0])
    assert_refused(said, espalier.open, TINY, captions=captions)
    missing = tmp_path / "none.json"
    said = words("caption", "--model", TINY, "--extra", missing, samples[0])
    assert_refused(said, espalier.open, TINY, extra=[missing])


def test_a_checkpoint_is_captioned_by_its_taxonomy(imported, samples, trainer, tmp_path):
    checkpoint = imported("meru.pth")
    taxonomy = tmp_path / "tree.tsv"
    taxonomy.write_text(
        "synset\tnames\thypernyms\tlabelled\nr\tthing\t\t0\na\tanimal\tr\t0\n"
        "c\tcat\ta\t1\nt\ttable\tr\t1\n"
    )
    flags = ["--taxonomy", taxonomy]
    [known] = trainer("caption", "--model", checkpoint, *flags, samples[0])
    model = espalier.open(checkpoint, taxonomy=taxonomy)
    same(model.caption(samples[0]), known)
    assert model.taxonomy.labels == ["c", "t"]


def test_a_pickle_holds_the_path_of_a_model(tiny, samples):
    pickled = pickle.dumps(tiny)
    assert len(pickled) < 1000
    same(pickle.loads(pickled).caption(samples[0]), tiny.caption(samples[0]))


def test_a_model_without_calibration_says_so(tiny, imported):
    assert tiny.cautions == []
    assert any("not calibrated" in caution for caution in espalier.open(imported("meru.pth")).cautions)


def test_the_taxonomy_has_paths_names_and_labels(tiny):
    taxonomy = tiny.taxonomy
    label = taxonomy.labels[0]
    path = taxonomy.path(label)
    assert path[0].id == taxonomy.root and path[-1].id == label
    assert all(taxonomy.is_ancestor(a.id, label) for a in path[:-1])
    assert taxonomy.common(label, label) == label
    node = taxonomy[label]
    assert node.labelled and node.name == node.names[0] and node.depth >= 1
    assert label in taxonomy and "no such id" not in taxonomy
    assert list(taxonomy)[0] and len(list(taxonomy)) == len(taxonomy)
    assert taxonomy.named(taxonomy[taxonomy.root].name) == taxonomy.root
    assert node.parents[0] == path[-2].id and label in path[-2].children
    with pytest.raises(KeyError):
        taxonomy["no such id"]


def test_paths_may_be_of_any_kind(tiny, samples):
    assert tiny.caption(str(samples[0]))["ladder"] == tiny.caption(Path(samples[0]))["ladder"]

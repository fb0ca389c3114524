"""The package as a whole: its types, its command line, its notebook, and the way it is installed."""

from __future__ import annotations

import sys
import textwrap
from importlib import metadata
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import espalier

from conftest import ROOT, TINY, call, program

PACKAGE = Path(espalier.__file__).parent
SCRIPT = """
    import numpy as np
    from PIL import Image

    import espalier
    from espalier import geometry, losses, tasks
    from espalier.types import CaptionResult, Record

    model = espalier.open("model")
    one: CaptionResult = model.caption("photo.jpg")
    several: list[CaptionResult] = model.caption(["photo.jpg", b"bytes", Image.new("RGB", (2, 2))])
    words: str = one["ladder"][0]["text"]
    p: float = several[0]["taxonomy"]["path"][0]["p"]
    images = model.encode_image(["a.jpg"], batch_size=8, threads=2)
    texts = model.encode_text("a cat")
    total: np.ndarray = model.logits(images, texts) + model.radius(texts)
    record: Record = espalier.evaluate(model, "zero-shot", "data", no_cache=True, k=[1, 5])
    accuracy: float = tasks.zero_shot(model, ["data"])["metrics"]["acc1"]
    loss = losses.meru(images, texts, c=1.0, gradients=True)
    slope = loss.gradients["images"] * loss.total
    distances = geometry.pairwise_dist(images, texts, 0.5)
    name: str = model.taxonomy[model.taxonomy.labels[0]].name
    try:
        pass
    except espalier.Error as error:
        code: int = error.exit_code
"""
WRONG = {
    'model.caption("a.jpg", on_error="skip")': "call-overload",
    "model.encode_text(3)": "arg-type",
    'model.caption("a.jpg")["ladders"]': "typeddict-item",
    'losses.clip(images, texts, temperature=1)': "call-arg",
    "model.radius": None,
}


def mypy(folder: Path, code: str) -> str:
    file = folder / "script.py"
    file.write_text(textwrap.dedent(code))
    flags = ["--strict", "--cache-dir", folder / "cache"]
    return program(sys.executable, "-m", "mypy", *flags, file, cwd=folder).stdout


def test_a_script_has_types_and_wrong_calls_are_found(tmp_path):
    assert "Success" in mypy(tmp_path, SCRIPT)
    lines = [f"    {line}" for line in WRONG]
    found = mypy(tmp_path, SCRIPT + "\n".join(lines) + "\n")
    for line, code in WRONG.items():
        if code is not None:
            assert f"[{code}]" in found, (line, found)
    assert found.count(": error: ") == len([code for code in WRONG.values() if code]), found


def test_the_package_itself_has_strict_types(tmp_path):
    flags = ["--strict", "--no-incremental", "-p", "espalier"]
    done = program(sys.executable, "-m", "mypy", *flags, cwd=tmp_path)
    assert "Success" in done.stdout, done.stdout


def test_the_stubs_are_those_of_the_native_module(tmp_path):
    done = program(sys.executable, "-m", "mypy.stubtest", "espalier", "--concise", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_everything_that_is_promised_is_there_and_documented():
    for module in (espalier, espalier.geometry, espalier.losses, espalier.tasks):
        for name in module.__all__:
            value = getattr(module, name)
            assert name.startswith("__") or value is espalier.losses.SCALE or value.__doc__, name
    for kind in (espalier.Model, espalier.Space, espalier.Taxonomy, espalier.Node):
        for name, value in vars(kind).items():
            assert name.startswith("_") or value.__doc__, (kind, name)
    assert espalier.__version__ == metadata.version("espalier")


def test_the_command_line_is_that_of_the_trainer(samples):
    known = call("caption", "--model", TINY, samples[0])
    done = program(sys.executable, "-m", "espalier", "caption", "--model", TINY, samples[0])
    assert (done.returncode, done.stdout) == (0, known.stdout)
    [script] = [s for s in metadata.entry_points(group="console_scripts") if s.name == "espalier"]
    assert script.value == "espalier.__main__:main"
    espalier_program = Path(sys.executable).with_name("espalier")
    for arguments in (["caption"], ["eval", "--task", "none"], ["--version"], ["caption", "--help"]):
        ours = program(espalier_program, *arguments)
        theirs = call(*arguments)
        assert ours.returncode == theirs.returncode
        assert ours.stdout.replace("espalier", "trainer") == theirs.stdout.replace(
            "espalier", "trainer"
        )


def test_the_wheel_needs_numpy_alone_and_holds_its_types():
    needed = metadata.requires("espalier") or []
    assert [n for n in needed if "extra ==" not in n] == ["numpy>=1.23"]
    assert (PACKAGE / "py.typed").is_file() and (PACKAGE / "_native.pyi").is_file()
    assert list(PACKAGE.glob("_native.abi3.so"))


@pytest.mark.parametrize("notebook", sorted((ROOT / "python/notebooks").glob("*.ipynb")))
def test_the_notebook_runs_from_top_to_bottom(notebook, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    cells = nbformat.read(notebook, as_version=4)
    client = NotebookClient(
        cells, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}
    )
    client.execute()
    outputs = [o for cell in cells.cells for o in cell.get("outputs", [])]
    pictures = [o for o in outputs if "image/png" in o.get("data", {})]
    assert len(pictures) >= 2
    assert not [o for o in outputs if o.output_type == "error"]

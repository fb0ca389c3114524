"""What the tests share: files of the repository, models, and the program `trainer`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
from PIL import Image

import espalier

ROOT = Path(__file__).resolve().parents[2]
TINY = ROOT / "static/models/tiny"
SAMPLES = sorted((ROOT / "static/samples/small").glob("*.jpg"))
# The program whose results the package must give, and whose words its errors must have.
TRAINER = os.environ.get("ESPALIER_TRAINER", str(ROOT / "target/release/trainer"))


@pytest.fixture(scope="session")
def tiny() -> espalier.Model:
    return espalier.open(TINY)


@pytest.fixture(scope="session")
def samples() -> list[Path]:
    assert len(SAMPLES) == 8
    return SAMPLES


def program(*words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a program, whatever its exit code."""
    return subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=cwd,
    )


def call(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return program(TRAINER, *arguments)


@pytest.fixture(scope="session")
def trainer() -> Callable[..., list[Any]]:
    """Runs the program, which must succeed, and returns the objects that it prints."""

    def run(*arguments: str | Path) -> list[Any]:
        done = call(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run


@pytest.fixture(scope="session")
def words() -> Callable[..., str]:
    """Runs the program, which must refuse with exit code 2, and returns its message."""

    def run(*arguments: str | Path) -> str:
        done = call(*arguments)
        assert done.returncode == 2, (done.returncode, done.stderr)
        return done.stderr.strip().removeprefix("error: ")

    return run


def assert_refused(said: str, work: Callable[..., object], *arguments: Any, **options: Any) -> None:
    """Asserts that a call is bad usage in these words."""
    with pytest.raises(espalier.UsageError) as caught:
        work(*arguments, **options)
    assert str(caught.value) == said


@pytest.fixture(scope="session")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Imports a golden checkpoint of another program and returns the path of ours."""
    made: dict[str, Path] = {}

    def of(name: str) -> Path:
        if name not in made:
            out = tmp_path_factory.mktemp("imported") / "ours"
            source = ROOT / "tests/golden/checkpoints" / name
            heads = ["--heads", "2", "--text-heads", "2"] if name.endswith(".pth") else []
            done = call("import", source, "--out", out, *heads)
            assert done.returncode == 0, done.stderr
            made[name] = out
        return made[name]

    return of


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of three classes with two pictures each, which differ in colour."""
    root = tmp_path_factory.mktemp("classes")
    with Image.open(SAMPLES[0]) as opened:
        picture = np.asarray(opened.convert("RGB").resize((80, 70)))
    for turn, name in enumerate(["red_house", "green_house", "blue_house"]):
        (root / name).mkdir()
        turned = np.roll(picture, turn, axis=2)
        Image.fromarray(turned).save(root / name / "0.jpg")
        Image.fromarray(255 - turned).save(root / name / "1.jpg")
    return root


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keeps what the tests embed out of the user's cache."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))

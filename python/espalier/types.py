"""Types of arguments and results."""

from __future__ import annotations

import os
from typing import Any, Protocol, TypedDict, Union

import numpy as np
from numpy.typing import NDArray


class Image(Protocol):
    """An image of Pillow, by what it has: types stay strict where Pillow is not installed."""

    @property
    def mode(self) -> str: ...

    @property
    def size(self) -> tuple[int, int]: ...

    def load(self) -> Any: ...


Photo = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, NDArray[np.uint8], Image]
"""A path, the bytes of a file, pixels `[height, width, 3]`, or an image of Pillow."""


class ModelInfo(TypedDict):
    """The bundle that gave a result."""

    name: str
    version: str
    sha256: str


class PhotoInfo(TypedDict):
    """Size of a photo, and the SHA-256 of its file, or of its pixels if there is no file."""

    width: int
    height: int
    sha256: str


class _OfNode(TypedDict, total=False):
    node: str


class Rung(_OfNode):
    """A caption; rungs go from general to specific. `node` is there if it describes a node."""

    text: str
    radius: float
    similarity: float
    p: float


class Step(TypedDict):
    """A node of the path, with the calibrated probability that the photo shows it."""

    id: str
    name: str
    p: float


class Place(TypedDict):
    """The path of a photo in the taxonomy, and the node down to which the evidence carries."""

    path: list[Step]
    stop: str


class Shown(TypedDict):
    """What a photo shows, with the probability that at least one of several people would mention it."""

    text: str
    p: float
    role: str


class _OfFile(TypedDict, total=False):
    file: str
    error: str
    shows: list[Shown]


class CaptionResult(_OfFile):
    """Captions and place of a photo: a line of `trainer caption --json`.

    `file` is there for a photo given as a path. A photo that could not be read has only `file` and
    `error`, after `caption(..., on_error="return")`. `shows` is there if the bundle has detectors.
    """

    model: ModelInfo
    backend: str
    image: PhotoInfo
    ladder: list[Rung]
    said: int
    taxonomy: Place
    timing_ms: dict[str, float]


class _WithCurves(TypedDict, total=False):
    curves: dict[str, list[Any]]


class Record(_WithCurves):
    """The result of one task: an object of `trainer eval --json`."""

    dataset: list[str]
    benchmark: str | None
    model: str
    architecture: str | None
    pretrained: str
    sha256: str
    task: str
    language: str
    prompts: str
    backend: str
    n: int
    left_out: dict[str, int]
    classes: int
    seed: int
    settings: dict[str, str]
    ledger: dict[str, Any] | None
    metrics: dict[str, float]
    published: list[dict[str, Any]]

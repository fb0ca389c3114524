"""Evaluation: the tasks of `trainer eval`, one function each, and `evaluate` for a task by its name.

`docs/evaluation.md` lists their data and their metrics. Options are the flags of `trainer eval` with
underscores: `evaluate(model, "retrieval", "coco/", k=[1, 5], split="val")`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Callable, Union

from . import _native
from ._native import Model
from .errors import UsageError
from .types import Record

Data = Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]]
"""One path or several: files, folders and globs."""

Option = Union[str, int, float, bool, None, "os.PathLike[str]", Iterable[Any]]
"""A value of an option. `True` sets a flag; `None` and `False` leave it out."""


def evaluate(model: Model | None, task: str, data: Data = (), **options: Option) -> Record:
    """Runs a task and returns the record that `trainer eval --json` prints.

    `model` may be `None` with the options `image_embeddings` and `text_embeddings`. Ctrl-C stops
    between two batches.
    """
    known = _native.options()
    unknown = [name for name in options if name not in known]
    if unknown:
        raise UsageError(f"options: expected some of {', '.join(known)}, found {unknown[0]}")
    arguments = ["--task", task]
    for path in _several(data):
        arguments.append(f"--data={path}")
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            arguments.append(flag)
        elif value is not None and value is not False:
            # In one word, so that a value may begin with a dash.
            arguments += [f"{flag}={one}" for one in _several(value)]
    record: Record = _native.evaluate(model, arguments)
    return record


def _several(value: Any) -> list[str]:
    if isinstance(value, (str, os.PathLike)):
        return [os.fsdecode(value)]
    if isinstance(value, Iterable):
        return [os.fsdecode(one) if isinstance(one, os.PathLike) else str(one) for one in value]
    return [str(value)]


def _function(task: str) -> Callable[..., Record]:
    about, needs = next((about, needs) for name, about, needs in _native.tasks() if name == task)

    def run(model: Model | None, data: Data = (), **options: Option) -> Record:
        return evaluate(model, task, data, **options)

    run.__name__ = run.__qualname__ = task.replace("-", "_")
    run.__doc__ = f"{about}\n\nData: {needs}"
    return run


zero_shot = _function("zero-shot")
hierarchy = _function("hierarchy")
stop = _function("stop")
teach = _function("teach")
heat_map = _function("heat-map")
two_subjects = _function("two-subjects")
ordering = _function("ordering")
retrieval = _function("retrieval")
captions = _function("captions")
hierarcaps = _function("hierarcaps")
hyperlex = _function("hyperlex")
words = _function("words")
breeds = _function("breeds")
rank_zero_shot = _function("rank-zero-shot")
rank_ordering = _function("rank-ordering")
image_to_image = _function("image-to-image")
parts = _function("parts")
detection = _function("detection")
sugar_crepe = _function("sugar-crepe")
vl_checklist = _function("vl-checklist")
norms = _function("norms")
factors = _function("factors")

__all__ = [
    "breeds",
    "captions",
    "detection",
    "evaluate",
    "factors",
    "heat_map",
    "hierarcaps",
    "hierarchy",
    "hyperlex",
    "image_to_image",
    "norms",
    "ordering",
    "parts",
    "rank_ordering",
    "rank_zero_shot",
    "retrieval",
    "stop",
    "sugar_crepe",
    "teach",
    "two_subjects",
    "vl_checklist",
    "words",
    "zero_shot",
]

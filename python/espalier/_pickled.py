"""Models in pickles: a pickle holds the path of a model, not its weights."""

from __future__ import annotations

from ._native import Model, open


def reopen(path: str, captions: str | None, taxonomy: str | None, extra: list[str]) -> Model:
    """Opens the model of a pickle from where it was."""
    return open(path, captions=captions, taxonomy=taxonomy, extra=extra, offline=True)

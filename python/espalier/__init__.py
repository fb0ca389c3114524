"""Models of visual-semantic hierarchies: captions, embeddings, geometry, losses and evaluation.

>>> import espalier
>>> model = espalier.open("static/models/default")
>>> model.caption("static/samples/cat.jpg")["taxonomy"]["stop"]
"""

try:
    from . import _native
except ImportError as _cause:
    raise ImportError(
        f"the compiled part of espalier cannot be loaded ({_cause}); from its source, build and install it with "
        "`cargo xtask python && pip install target/wheels/espalier-*.whl`"
    ) from _cause

from . import geometry, losses, tasks, types
from ._native import Model, Node, Space, Taxonomy, __version__, open
from .errors import DataError, Error, RefusedError, UsageError
from .tasks import evaluate

__all__ = [
    "DataError",
    "Error",
    "Model",
    "Node",
    "RefusedError",
    "Space",
    "Taxonomy",
    "UsageError",
    "__version__",
    "evaluate",
    "geometry",
    "losses",
    "open",
    "tasks",
    "types",
]

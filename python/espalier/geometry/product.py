"""A product of Lorentz factors, each with its own curvature (notation 1.6)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .. import _native
from .._arrays import Floats, cast, curvatures, precision
from ..errors import UsageError

__all__ = ["flatten", "pairwise_dist", "pairwise_inner", "split"]


def split(features: ArrayLike, factors: int) -> Floats:
    """Splits features into factors of consecutive coordinates, `[b, k d] -> [k, b, d]`."""
    array = cast("features", features, precision(features))
    if array.ndim != 2 or factors < 1 or array.shape[1] % factors:
        raise UsageError(
            f"features: expected shape [b, {factors} d], found {list(array.shape)}"
        )
    width = array.shape[1] // factors
    parts: Floats = array.reshape(array.shape[0], factors, width).swapaxes(0, 1)
    return parts


def flatten(points: ArrayLike) -> Floats:
    """Concatenates the factors, the inverse of `split`, `[k, b, d] -> [b, k d]`."""
    array = cast("points", points, precision(points))
    if array.ndim != 3:
        raise UsageError(f"points: expected shape [k, b, d], found {list(array.shape)}")
    rows: Floats = array.swapaxes(0, 1).reshape(array.shape[1], -1)
    return rows


def pairwise_dist(x: ArrayLike, y: ArrayLike, c: ArrayLike, join: str = "l1") -> Floats:
    """Returns the training distances of all pairs, `[n, k d], [m, k d], [k] -> [n, m]`.

    `join` is `l1`, the mean over the factors, or `l2`, the root of the mean square.
    """
    return _native.product_dist(*_factors(x, y, c), join)


def pairwise_inner(x: ArrayLike, y: ArrayLike, c: ArrayLike) -> Floats:
    """Returns the sums over the factors of the Lorentzian inner products of all pairs."""
    return _native.product_inner(*_factors(x, y, c))


def _factors(x: ArrayLike, y: ArrayLike, c: ArrayLike) -> tuple[Floats, Floats, Floats]:
    dtype = precision(x, y)
    count = np.size(c)
    points = [split(cast(name, value, dtype), count) for name, value in (("x", x), ("y", y))]
    if points[0].shape[2] != points[1].shape[2] or 0 in points[0].shape or 0 in points[1].shape:
        raise UsageError(
            f"x and y: expected points of one width, found {np.shape(x)} and {np.shape(y)}"
        )
    return points[0], points[1], curvatures(c, count, dtype)

"""The Poincaré ball of radius 1 and curvature -1, for drawings, in double precision (notation 1.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _native
from .._arrays import cast
from ..errors import UsageError

__all__ = ["busemann", "centred", "distance", "exp0", "from_lorentz", "log0", "to_lorentz"]

Double = NDArray[np.float64]


def _rows(name: str, points: ArrayLike) -> Double:
    array = cast(name, points, np.float64)
    if array.ndim == 0:
        raise UsageError(f"{name}: expected points [.., d], found a number")
    return array.reshape(-1, array.shape[-1])


def from_lorentz(x: ArrayLike, c: float = 1.0) -> Double:
    """Maps points of the Lorentz model into the ball; distances are multiplied by `sqrt(c)`."""
    if not c > 0:
        raise UsageError(f"c: expected a positive number, found {c}")
    return _native.from_lorentz(_rows("x", x), c).reshape(np.shape(x))


def to_lorentz(p: ArrayLike) -> Double:
    """Returns the space parts of points in the Lorentz model of `c = 1`."""
    return _native.to_lorentz(_rows("p", p)).reshape(np.shape(p))


def exp0(v: ArrayLike) -> Double:
    """Returns the exponential map at the origin: points at distance `|v|`."""
    return _native.poincare_exp0(_rows("v", v)).reshape(np.shape(v))


def log0(p: ArrayLike) -> Double:
    """Returns the logarithmic map at the origin, the inverse of `exp0`."""
    return _native.poincare_log0(_rows("p", p)).reshape(np.shape(p))


def distance(p: ArrayLike, q: ArrayLike) -> Double:
    """Returns the hyperbolic distances row by row, `[.., d], [.., d] -> [..]`."""
    return _native.distance(_rows("p", p), _rows("q", q)).reshape(np.shape(p)[:-1])


def busemann(ideal: ArrayLike, p: ArrayLike) -> Double:
    """Returns how much farther from ideal points, of norm 1, the points are than the origin."""
    return _native.busemann(_rows("ideal", ideal), _rows("p", p)).reshape(np.shape(p)[:-1])


def centred(centre: ArrayLike, p: ArrayLike) -> Double:
    """Returns the points after the isometry that maps `centre`, `[d]`, to the origin."""
    middle, points = cast("centre", centre, np.float64), _rows("p", p)
    if middle.shape != points.shape[1:]:
        raise UsageError(
            f"centre: expected shape {list(points.shape[1:])}, found {list(middle.shape)}"
        )
    return _native.centred(middle, points).reshape(np.shape(p))

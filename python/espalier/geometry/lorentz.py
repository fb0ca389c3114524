"""The Lorentz (hyperboloid) model in numerically stable form (notation 1.1, 1.3)."""

from __future__ import annotations

from numpy.typing import ArrayLike

from .. import _native
from .._arrays import Floats, Numbers, by_pairs, by_rows, cast, positive, precision
from ..errors import UsageError

__all__ = [
    "dist",
    "dist0",
    "einstein_midpoint",
    "exp_map0",
    "inner",
    "log_map0",
    "pairwise_dist",
    "pairwise_inner",
    "time",
]


def time(x: ArrayLike, c: Numbers = 1.0) -> Floats:
    """Returns the time parts of points, `[.., d] -> [..]`."""
    return by_rows(_native.time, {"x": x}, c)


def exp_map0(v: ArrayLike, c: Numbers = 1.0) -> Floats:
    """Returns the exponential map at the origin: points at distance `|v|`, `[.., d] -> [.., d]`."""
    return by_rows(_native.exp_map0, {"v": v}, c, keeps_width=True)


def log_map0(x: ArrayLike, c: Numbers = 1.0) -> Floats:
    """Returns the logarithmic map at the origin, the inverse of `exp_map0`."""
    return by_rows(_native.log_map0, {"x": x}, c, keeps_width=True)


def dist0(x: ArrayLike, c: Numbers = 1.0) -> Floats:
    """Returns the distances to the origin, the radii of points, `[.., d] -> [..]`."""
    return by_rows(_native.dist0, {"x": x}, c)


def inner(x: ArrayLike, y: ArrayLike, c: Numbers = 1.0) -> Floats:
    """Returns the Lorentzian inner products row by row, at most `-1/c`."""
    return by_rows(_native.inner, {"x": x, "y": y}, c)


def dist(x: ArrayLike, y: ArrayLike, c: Numbers = 1.0) -> Floats:
    """Returns the geodesic distances row by row."""
    return by_rows(_native.dist, {"x": x, "y": y}, c)


def einstein_midpoint(x: ArrayLike, c: float = 1.0) -> Floats:
    """Returns the point in the direction of the sum of the points, `[b, d] -> [d]`."""
    dtype = precision(x)
    points = cast("x", x, dtype)
    if points.ndim != 2 or 0 in points.shape:
        raise UsageError(f"x: expected points [b, d], found shape {list(points.shape)}")
    row = _native.einstein_midpoint(points, positive("c", c, dtype).reshape(1, 1))
    return row.reshape(-1)


def pairwise_inner(x: ArrayLike, y: ArrayLike, c: Numbers = 1.0) -> Floats:
    """Returns the Lorentzian inner products of all pairs, `[n, d], [m, d] -> [n, m]`."""
    return by_pairs(_native.pairwise_inner, {"x": x, "y": y}, c)


def pairwise_dist(x: ArrayLike, y: ArrayLike, c: Numbers = 1.0) -> Floats:
    """Returns the geodesic distances of all pairs, `[n, d], [m, d] -> [n, m]`.

    In float32, distances below about 5e-4 are not resolved as in `dist`.
    """
    return by_pairs(_native.pairwise_dist, {"x": x, "y": y}, c)

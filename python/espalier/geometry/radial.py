"""Angles relative to a root, on the sphere or in Euclidean space (notation 1.4, 1.5)."""

from __future__ import annotations

from numpy.typing import ArrayLike

from .. import _native
from .._arrays import Floats, by_pairs, by_rows

__all__ = ["angle", "exterior_angle", "half_aperture", "pairwise_exterior_angle"]


def exterior_angle(e: ArrayLike, f: ArrayLike, root: ArrayLike) -> Floats:
    """Returns the angles between `e - root` and `f - e`, in `[0, pi]`, row by row."""
    return by_rows(_native.radial_angle, {"e": e, "f": f, "root": root}, None)


def half_aperture(e: ArrayLike, root: ArrayLike) -> Floats:
    """Returns the half-apertures of the cones at points: `asin(min(1, 0.05 / |e - root|))`."""
    return by_rows(_native.radial_aperture, {"e": e, "root": root}, None)


def angle(a: ArrayLike, b: ArrayLike) -> Floats:
    """Returns the angles between vectors, in `[0, pi]`, row by row."""
    return by_rows(_native.angle, {"a": a, "b": b}, None)


def pairwise_exterior_angle(x: ArrayLike, y: ArrayLike) -> Floats:
    """Returns the exterior angles about zero of all pairs, a row for each apex."""
    return by_pairs(_native.radial_pairwise_angle, {"x": x, "y": y}, None)

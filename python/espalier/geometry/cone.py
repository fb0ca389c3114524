"""Entailment cones in the Lorentz model (notation 1.1)."""

from __future__ import annotations

from functools import partial

from numpy.typing import ArrayLike

from .. import _native
from .._arrays import Floats, Numbers, by_pairs, by_rows

__all__ = ["entailment_gap", "exterior_angle", "half_aperture", "pairwise_exterior_angle"]


def half_aperture(x: ArrayLike, c: Numbers = 1.0) -> Floats:
    """Returns the half-apertures of the cones at points, in `(0, pi/2)`, `[.., d] -> [..]`."""
    return by_rows(_native.half_aperture, {"x": x}, c)


def exterior_angle(x: ArrayLike, y: ArrayLike, c: Numbers = 1.0) -> Floats:
    """Returns the exterior angles at `x` toward `y`: 0 straight outward, `pi` toward the origin."""
    return by_rows(_native.exterior_angle, {"x": x, "y": y}, c)


def pairwise_exterior_angle(x: ArrayLike, y: ArrayLike, c: Numbers = 1.0) -> Floats:
    """Returns the exterior angles of all pairs, a row for each apex, `[n, d], [m, d] -> [n, m]`."""
    return by_pairs(_native.pairwise_exterior_angle, {"x": x, "y": y}, c)


def entailment_gap(x: ArrayLike, y: ArrayLike, c: Numbers = 1.0, eta: float = 1.0) -> Floats:
    """Returns how far `y` lies outside the cone at `x`, in radians; 0 inside."""
    return by_rows(partial(_gap, eta), {"x": x, "y": y}, c)


def _gap(eta: float, x: Floats, y: Floats, c: Floats) -> Floats:
    return _native.entailment_gap(x, y, c, eta)

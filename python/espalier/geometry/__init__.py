"""Points, distances and cones, by the functions that training uses.

A point of the Lorentz model is its space part only; `c > 0` is minus the curvature. Functions with plain
names work row by row on arrays `[.., d]`, which broadcast; `pairwise_*` give a matrix with a row for each
first argument. The apex of a cone is the first argument. Results have the precision of the arguments:
float32 if all arrays are, else float64. The formulas are in `docs/notation.md`, section 1.

`espalier.Space` has the same geometry for the space of a model.
"""

from . import cone, lorentz, poincare, product, radial
from .cone import (
    entailment_gap,
    exterior_angle,
    half_aperture,
    pairwise_exterior_angle,
)
from .lorentz import (
    dist,
    dist0,
    einstein_midpoint,
    exp_map0,
    inner,
    log_map0,
    pairwise_dist,
    pairwise_inner,
    time,
)

__all__ = [
    "cone",
    "dist",
    "dist0",
    "einstein_midpoint",
    "entailment_gap",
    "exp_map0",
    "exterior_angle",
    "half_aperture",
    "inner",
    "log_map0",
    "lorentz",
    "pairwise_dist",
    "pairwise_exterior_angle",
    "pairwise_inner",
    "poincare",
    "product",
    "radial",
    "time",
]

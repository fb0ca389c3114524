"""Arrays in the shapes and the precision that the native functions take."""

from __future__ import annotations

from typing import Any, Callable, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import UsageError

Floats = NDArray[Any]
"""An array of float32 or float64."""

Numbers = Union[float, ArrayLike]
"""A number, or an array that broadcasts against the points."""


def precision(*arrays: object) -> type[np.floating[Any]]:
    """Returns float32 if no array has a higher precision, else float64; plain numbers have none."""
    found = [np.asarray(a).dtype for a in arrays if not isinstance(a, (int, float))]
    small = all(dtype in (np.float16, np.float32) for dtype in found)
    return np.float32 if found and small else np.float64


def cast(name: str, value: ArrayLike, dtype: type[np.floating[Any]]) -> Floats:
    """Returns an array of this precision."""
    try:
        return np.asarray(value, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name}: expected an array of numbers: {error}") from None


def positive(name: str, value: Numbers, dtype: type[np.floating[Any]]) -> Floats:
    """Returns numbers, all of which are positive."""
    numbers = cast(name, value, dtype)
    if not (numbers > 0).all() or not np.isfinite(numbers).all():
        raise UsageError(f"{name}: expected positive numbers, found {value!r}")
    return numbers


def by_rows(
    function: Callable[..., Floats],
    points: dict[str, ArrayLike],
    c: Numbers | None,
    *,
    keeps_width: bool = False,
) -> Floats:
    """Calls a function of rows `[n, d]` with points `[.., d]`, which broadcast, and with `c`.

    The result has a number for each row, or another row of the same width.
    """
    dtype = precision(*points.values(), *([] if c is None else [c]))
    arrays = [_points(name, value, dtype) for name, value in points.items()]
    scale = None if c is None else positive("c", c, dtype)
    try:
        arrays = list(np.broadcast_arrays(*arrays))
        leading = arrays[0].shape[:-1]
        if scale is not None:
            leading = np.broadcast_shapes(leading, scale.shape)
    except ValueError:
        shapes = ", ".join(str(list(a.shape)) for a in arrays)
        of_c = "" if scale is None else f" and c {list(scale.shape)}"
        names = ", ".join(points)
        raise UsageError(
            f"{names}: expected shapes that broadcast, found {shapes}{of_c}"
        ) from None
    width = arrays[0].shape[-1]
    rows = [np.broadcast_to(a, (*leading, width)).reshape(-1, width) for a in arrays]
    if scale is not None:
        one = scale.size == 1
        rows.append(scale.reshape(1, 1) if one else np.broadcast_to(scale, leading).reshape(-1, 1))
    shape = (*leading, width) if keeps_width else leading
    if rows[0].shape[0] == 0:
        return np.empty(shape, dtype)
    return function(*rows).reshape(shape)


def by_pairs(
    function: Callable[..., Floats], points: dict[str, ArrayLike], c: Numbers | None
) -> Floats:
    """Calls a function of all pairs with points `[n, d]` and `[m, d]`, or of `k` batches of them."""
    dtype = precision(*points.values(), *([] if c is None else [c]))
    x, y = (_points(name, value, dtype) for name, value in points.items())
    if x.ndim not in (2, 3) or x.ndim != y.ndim or x.shape[-1] != y.shape[-1]:
        raise _unlike(points, x, y)
    batches = [a if a.ndim == 3 else a[None] for a in (x, y)]
    if batches[0].shape[0] != batches[1].shape[0]:
        raise _unlike(points, x, y)
    arguments = list(batches)
    if c is not None:
        arguments.append(curvatures(c, batches[0].shape[0], dtype))
    if 0 in (batches[0].shape[0], batches[0].shape[1], batches[1].shape[1]):
        found = np.empty((batches[0].shape[0], batches[0].shape[1], batches[1].shape[1]), dtype)
    else:
        found = function(*arguments)
    return found if x.ndim == 3 else found[0]


def curvatures(c: Numbers, count: int, dtype: type[np.floating[Any]]) -> Floats:
    """Returns one curvature for each of `count` batches or factors, `[count, 1, 1]`."""
    numbers = positive("c", c, dtype)
    if numbers.size not in (1, count):
        raise UsageError(f"c: expected one number or {count}, found {numbers.size}")
    return np.broadcast_to(numbers.reshape(-1, 1, 1), (count, 1, 1))


def _points(name: str, value: ArrayLike, dtype: type[np.floating[Any]]) -> Floats:
    array = cast(name, value, dtype)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise UsageError(f"{name}: expected points [.., d], found shape {list(array.shape)}")
    return array


def _unlike(points: dict[str, ArrayLike], x: Floats, y: Floats) -> UsageError:
    names = " and ".join(points)
    return UsageError(
        f"{names}: expected shapes [n, d] and [m, d], or [k, n, d] and [k, m, d], found "
        f"{list(x.shape)} and {list(y.shape)}"
    )

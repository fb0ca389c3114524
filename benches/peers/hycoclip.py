"""The HyCoCLIP loss, written from the formulas of docs/notation.md (1.3 and 2.3)."""

import sys

import torch
import torch.nn.functional as F

from networks import exp_map0

# core/src/loss/hycoclip.rs and core/src/geometry.
ETA_INTER, ETA_INTRA, ENTAIL_WEIGHT, MIN_RADIUS = 0.7, 1.2, 0.2, 0.1


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
    """Returns the loss and its terms."""
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
    """Ends the program unless the loss has its reference values in float64.

    The toy batch of notation 9.2: `0.5 sin(1 + 0.7 i + 0.3 j + 1.1 r)`, c = 1 and c = 0.5.
    """
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

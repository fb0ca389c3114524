# /// script
# requires-python = ">=3.10"
# dependencies = ["numpy>=2", "torch>=2.6"]
# ///
"""Golden values and gradients of the losses: `uv run gen_losses.py` writes losses.tsv.

Written from the formulas of the papers, in float64 with automatic differentiation, and in their
literal form: `acos`, `acosh` and differences instead of the stable forms of `core`, with the safety
constants of the published programs: `eps` is 1e-8 for MERU and HyCoCLIP, 1e-6 for PHyCLIP. Batches are
computed, not stored: `numbers` below has its twin in `core/tests/all/losses_golden.rs`. A gradient of
`n` numbers is kept as its norm and its products with three directions.
"""

import math
from pathlib import Path

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
B, D, K, SCALE, ETA_INTER, ETA_INTRA, ENTAIL = 32, 64, 8, 1 / 0.07, 0.7, 1.2, 0.2


def numbers(seed, count):
    """Reproducible numbers in (-1, 1)."""
    at = torch.arange(count, dtype=torch.float64)
    wave = torch.sin(at * 12.9898 + seed * 78.233) * 437.585453
    return 2 * (wave - wave.floor()) - 1


def time(x, c):
    return (1 / c + (x * x).sum(-1)).sqrt()


def exp0(v, c, eps=1e-8):
    r = (c.sqrt() * v.norm(dim=-1)).unsqueeze(-1)
    return r.clamp(eps, math.asinh(2**15)).sinh() * v / r.clamp(min=eps)


def dist(x, y, c, eps=1e-8):
    inner = x @ y.mT - time(x, c).unsqueeze(-1) * time(y, c).unsqueeze(-2)
    return (-c * inner).clamp(min=1 + eps).acosh() / c.sqrt()


def oxy(x, y, c, eps=1e-8):
    """Row by row; broadcasts."""
    x0, y0 = time(x, c), time(y, c)
    u = c * ((x * y).sum(-1) - x0 * y0)
    reach = (u * u - 1).clamp(min=eps).sqrt()
    return ((y0 + x0 * u) / (x.norm(dim=-1) * reach + eps)).clamp(eps - 1, 1 - eps).acos()


def aper(x, c, eps=1e-8):
    return (0.2 / (c.sqrt() * x.norm(dim=-1) + eps)).clamp(eps - 1, 1 - eps).asin()


def ce(logits):
    return F.cross_entropy(logits, torch.arange(len(logits)))


def gap(general, specific, c, eta, eps=1e-8):
    return (oxy(general, specific, c, eps) - eta * aper(general, c, eps)).relu().mean()


def clip(v, s):
    x, y = F.normalize(v[0], dim=-1), F.normalize(v[1], dim=-1)
    return (ce(s * x @ y.T) + ce(s * y @ x.T)) / 2


def meru(v, c, s):
    x, y = exp0(v[0], c), exp0(v[1], c)
    contrast = (ce(-s * dist(x, y, c)) + ce(-s * dist(y, x, c))) / 2
    return contrast + ENTAIL * gap(y, x, c, 1.0)


def boxes(points, distance, gaps, s):
    image, text, box_image, box_text = points
    pairs = [(image, text), (text, image), (box_image, text), (box_text, image)]
    contrast = sum(ce(-s * distance(a, b)) for a, b in pairs) / 4
    entail = 0.5 * (
        gaps(text, image, ETA_INTER)
        + gaps(box_text, box_image, ETA_INTER)
        + gaps(box_image, image, ETA_INTRA)
        + gaps(box_text, text, ETA_INTRA)
    )
    return contrast + ENTAIL * entail


def hycoclip(v, c, s):
    points = [exp0(part, c) for part in v]
    return boxes(points, lambda a, b: dist(a, b, c), lambda a, b, eta: gap(a, b, c, eta), s)


def phyclip(v, c, s, join):
    eps = 1e-6

    def factors(part):
        return [exp0(part[:, i * D // K : (i + 1) * D // K], c[i], eps) for i in range(K)]

    def distance(a, b):
        each = torch.stack([dist(x, y, c[i], eps) for i, (x, y) in enumerate(zip(a, b))])
        return each.mean(0) if join == "l1" else (each**2).mean(0).sqrt()

    def gaps(a, b, eta):
        return sum(gap(x, y, c[i], eta, eps) for i, (x, y) in enumerate(zip(a, b))) / K

    return boxes([factors(part) for part in v], distance, gaps, s)


def xi(e, f, r):
    a, b = e - r, f - e
    return ((a * b).sum(-1) / (a.norm(dim=-1) * b.norm(dim=-1))).acos()


def radial(v, margin=None):
    chains = F.normalize(v.reshape(2, B // 4, 4, D), dim=-1)
    p, n = chains
    r = F.normalize(numbers(99, D), dim=-1)
    good, bad = xi(p[:, :3], p[:, 1:], r), xi(p[:, :3], n[:, :3], r)
    if margin is None:
        good, bad = good, -bad
    else:
        theta = (0.05 / (p[:, :3] - r).norm(dim=-1)).clamp(max=1 - 1e-8).asin()
        good, bad = (good - theta + margin).relu(), (theta - bad + margin).relu()
    good, bad = good.flatten(), bad.flatten()
    a, h = good.argmax(), bad.argmax()
    mined = good[a] + bad[a] + good[h] + bad[h]
    old = F.normalize(numbers(98, 2 * B * D).reshape(2 * B, D), dim=-1)
    pull = (1 - (chains.reshape(2 * B, D) * old).sum(-1).mean()) / 2
    return 10 * pull + good.mean() + bad.mean() + mined


def rcme(v, s, mode):
    texts = F.normalize(v[0].reshape(B // 8, 8, D)[:, :7], dim=-1)
    negatives = F.normalize(v[1].reshape(B // 8, 8, D)[:, :6], dim=-1)
    images = F.normalize(v[2][: B // 8], dim=-1)
    r = F.normalize(numbers(99, D), dim=-1)

    def angle(i, target):
        start = r if i == 0 or mode == "root" else texts[:, i - 1]
        return xi(texts[:, i], target, start)

    local = sum((angle(i, texts[:, i + 1]) - angle(i, negatives[:, i])).mean() for i in range(6)) / 6

    def similarity(i):
        return angle(i, texts[:, i + 1]).cos().clamp(0, 1)

    triples = [
        (angle(i, texts[:, i + 2]) - (similarity(i) * similarity(i + 1)).acos() + math.pi / 2).relu()
        for i in range(5)
    ]
    last = texts[:, 6]
    align = (ce(s * images @ last.T) + ce(s * last @ images.T)) / 2
    return sum(t.mean() for t in triples) / 5 + local + align


def related(i, j):
    return i == j or (7 * i + 3 * j) % 11 == 0


def parts(v, c, s, space):
    if space == "lorentz":
        x, y = exp0(v[0], c), exp0(v[1], c)
        down = math.pi - oxy(x.unsqueeze(1), y.unsqueeze(0), c)
        up = oxy(y.unsqueeze(1), x.unsqueeze(0), c)
    else:
        zero = torch.zeros(D)
        down = math.pi - xi(v[0].unsqueeze(1), v[1].unsqueeze(0), zero)
        up = xi(v[1].unsqueeze(1), v[0].unsqueeze(0), zero)
    total = 0
    for matrix, flip in [(down, False), (up, True)]:
        terms = []
        for i in range(B):
            r = [related(j, i) if flip else related(i, j) for j in range(B)]
            rest = (s * matrix[i, [j for j in range(B) if not r[j]]]).exp().sum()
            for j in range(B):
                if r[j]:
                    e = (s * matrix[i, j]).exp()
                    terms.append(-(e / (e + rest)).log())
        total = total + sum(terms) / len(terms)
    return total


def midpoint(x, c):
    k = x / time(x, c).unsqueeze(-1)
    gamma = 1 / (1 - (k * k).sum(-1)).sqrt()
    m = (gamma.unsqueeze(-1) * k).sum(0) / gamma.sum()
    return m / (1 - (m * m).sum()).sqrt() / c.sqrt()


def atmg(v, c, s):
    x, y = exp0(v[0], c), exp0(v[1], c)
    contrast = (
        ce(-s * oxy(y.unsqueeze(1), x.unsqueeze(0), c))
        + ce(s * oxy(x.unsqueeze(1), y.unsqueeze(0), c))
    ) / 2

    def off(points, target):
        m = midpoint(points, c)
        return ((c.sqrt() * m.norm()).asinh() / c.sqrt() - target).abs()

    return contrast + 0.3 * (off(x, 2.0) + off(y, 0.5))


def main():
    rows = ["loss\tcurvature\tvalue\tgradient\talong_1\talong_2\talong_3\tby_curvature"]
    cases = [("clip", 0.0, lambda v, c: clip(v, SCALE))]
    for c in [0.1, 1.0, 4.0]:
        cases += [
            ("meru", c, lambda v, c: meru(v, c, SCALE)),
            ("hycoclip", c, lambda v, c: hycoclip(v, c, SCALE)),
            ("phyclip_l1", c, lambda v, c: phyclip(v, spread(c), SCALE, "l1")),
            ("phyclip_l2", c, lambda v, c: phyclip(v, spread(c), SCALE, "l2")),
            ("atmg", c, lambda v, c: atmg(v, c, SCALE)),
            ("parts", c, lambda v, c: parts(v, c, SCALE, "lorentz")),
        ]
    cases += [
        ("parts_euclidean", 0.0, lambda v, c: parts(v, c, SCALE, "euclidean")),
        ("re", 0.0, lambda v, c: radial(v[:2])),
        ("ec", 0.0, lambda v, c: radial(v[:2], math.pi / 8)),
        ("rcme_root", 0.0, lambda v, c: rcme(v, SCALE, "root")),
        ("rcme_parent", 0.0, lambda v, c: rcme(v, SCALE, "parent")),
    ]

    def spread(c):
        return c * torch.linspace(0.5, 2, K)

    for seed, (name, curvature, loss) in enumerate(cases):
        v = (0.2 * numbers(seed, 4 * B * D)).reshape(4, B, D).requires_grad_()
        c = torch.tensor(max(curvature, 1e-3), requires_grad=True)
        value = loss(v, c)
        value.backward()
        flat = v.grad.flatten()
        along = [(flat @ numbers(1000 + i, 4 * B * D)).item() for i in range(3)]
        by_c = c.grad.item() if c.grad is not None else 0.0
        found = [value.item(), flat.norm().item(), *along, by_c]
        rows.append("\t".join([name, repr(curvature), *[f"{x:.12e}" for x in found]]))
    path = Path(__file__).with_name("losses.tsv")
    path.write_text(f"# written by gen_losses.py, torch {torch.__version__}\n" + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main()

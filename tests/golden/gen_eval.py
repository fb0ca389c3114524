# /// script
# requires-python = ">=3.10"
# dependencies = ["numpy>=2"]
# ///
"""Golden values of the evaluation: `uv run gen_eval.py` writes eval.tsv.

Written from the protocols in plain loops over float64, without the ways of the library: whole score
matrices, full sorts, sets of strings. Points are computed, not stored: `cloud` below has its twin in
`tests/tests/native/evaluation/golden.rs`; they are rounded to float32 first, as the library is given them.
"""

import math
from itertools import combinations
from pathlib import Path

import numpy as np


def numbers(seed, count):
    """Reproducible numbers in (-1, 1)."""
    at = np.arange(count, dtype=np.float64)
    wave = np.sin(at * 12.9898 + seed * 78.233) * 437.585453
    return 2 * (wave - np.floor(wave)) - 1


def cloud(seed, n, width, unit=False):
    x = numbers(seed, n * width).reshape(n, width)
    if unit:
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
    return x.astype(np.float32).astype(np.float64)


class Sphere:
    def __init__(self, root):
        self.root = np.asarray(root, dtype=np.float32).astype(np.float64)

    def score(self, x, y):
        return x @ y

    def radius(self, x):
        return float(np.linalg.norm(x - self.root))

    def angle(self, x, y):
        a, b = x - self.root, y - x
        return math.acos(np.clip(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)), -1, 1))


class Lorentz:
    def __init__(self, c):
        self.c = c

    def time(self, x):
        return math.sqrt(1 / self.c + x @ x)

    def score(self, x, y):
        return x @ y - self.time(x) * self.time(y)

    def radius(self, x):
        return math.acosh(math.sqrt(self.c) * self.time(x)) / math.sqrt(self.c)

    def angle(self, x, y):
        u = self.c * self.score(x, y)
        down = np.linalg.norm(x) * math.sqrt(u * u - 1)
        return math.acos(np.clip((self.time(y) + self.time(x) * u) / down, -1, 1))


class Product:
    def __init__(self, cs):
        self.factors = [Lorentz(c) for c in cs]

    def split(self, x):
        return np.split(x, len(self.factors))

    def score(self, x, y):
        parts = zip(self.factors, self.split(x), self.split(y))
        return sum(f.score(a, b) for f, a, b in parts)

    def radius(self, x):
        return sum(f.radius(a) for f, a in zip(self.factors, self.split(x)))

    def angle(self, x, y):
        parts = zip(self.factors, self.split(x), self.split(y))
        return float(np.mean([f.angle(a, b) for f, a, b in parts]))


ROWS = []


def keep(name, value):
    ROWS.append((name, float(value)))


# ---- hierarchical text-image matching (notation 6.4) ---------------------------------------------


def kendall(radii):
    pairs = [np.sign(b - a) for a, b in combinations(radii, 2)]
    return sum(pairs) / len(pairs)


def matching(space, images, chains, points, owners, steps, per_image, drop_first):
    """chains: lists of texts; points: one a text, in order; owners: image of each chain."""
    texts = [t for chain in chains for t in chain]
    radii = np.array([space.radius(p) for p in points])
    precisions, recalls = [], []
    for i, image in enumerate(images):
        scores = np.array([space.score(image, p) for p in points])
        if per_image:
            thresholds = np.linspace(0, radii[scores.argmax()], steps)
        else:
            thresholds = np.linspace(radii.min(), radii.max(), steps)
        predicted = set()
        for threshold in thresholds[1 if drop_first else 0 :]:
            inside = np.flatnonzero(radii <= threshold)
            if len(inside):
                predicted.add(texts[inside[scores[inside].argmax()]])
        own = [chain for chain, owner in zip(chains, owners) if owner == i]
        truth = {t for chain in own for t in chain}
        precisions.append(len(predicted & truth) / max(1, len(predicted)))
        tiers = [any(chain[t] in predicted for chain in own) for t in range(len(chains[0]))]
        recalls.append(np.mean(tiers))
    n = len(chains[0])
    taus = [kendall(radii[at : at + n]) for at in range(0, len(radii), n)]
    return np.mean(precisions), np.mean(recalls), np.mean(taus)


def keep_matching(name, *args):
    for metric, value in zip(("precision", "recall", "d_corr"), matching(*args)):
        keep(f"{name} {metric}", value)


def on_sphere(r, a):
    r, a = math.radians(r), math.radians(a)
    return [math.cos(r), math.sin(r) * math.cos(a), math.sin(r) * math.sin(a)]


def toy():
    """notation 9.4."""
    at = {
        "a1": (20, 0), "a2": (30, 5), "a3": (45, 10), "a4": (60, 12),
        "a2x": (33, -20), "a3x": (50, -22), "a4x": (63, -25),
        "b1": (22, 120), "b2": (34, 110), "b3": (50, 118), "b4": (48, 122),
        "c1": (25, 240), "c2": (28, 250), "c3": (52, 245), "c4": (66, 238),
    }  # fmt: skip
    chains = ["a1 a2 a3 a4", "a1 a2x a3x a4x", "b1 b2 b3 b4", "c1 c2 c3 c4"]
    chains = [c.split() for c in chains]
    f32 = lambda rows: np.array(rows, dtype=np.float32).astype(np.float64)
    points = f32([on_sphere(*at[t]) for chain in chains for t in chain])
    images = f32([on_sphere(*p) for p in ((75, 8), (70, 100), (72, 255))])
    space = Sphere([1, 0, 0])
    for steps in (50, 5):
        for drop in (False, True):
            for per_image in (False, True):
                name = f"toy {steps} {'per_image' if per_image else 'global'} {drop}"
                keep_matching(name, space, images, chains, points, [0, 0, 1, 2], steps, per_image, drop)


def clouds():
    chains = [[f"{i} {t}" for t in range(4)] for i in range(15)]
    # Two texts are shared, as general ones are.
    chains[3][0] = chains[1][0]
    chains[9][1] = chains[1][0]
    points = cloud(2, 60, 6) * np.tile([0.3, 0.6, 0.9, 1.2], 15)[:, None]
    points = points.astype(np.float32).astype(np.float64)
    images = cloud(1, 12, 6)
    owners = [i % 12 for i in range(15)]
    for name, space in (("lorentz", Lorentz(0.7)), ("product", Product([0.5, 2.0]))):
        for per_image in (False, True):
            keep_matching(
                f"cloud {name} {'per_image' if per_image else 'global'}",
                space, images, chains, points, owners, 20, per_image, False,
            )  # fmt: skip


# ---- retrieval (notation 6.2) --------------------------------------------------------------------


def recall(scores, own, k):
    hits = [any(t in own[i] for t in np.argsort(-row, kind="stable")[:k]) for i, row in enumerate(scores)]
    return np.mean(hits)


def retrieval():
    for name, space, unit in (
        ("sphere", Sphere([0] * 8), True),
        ("lorentz", Lorentz(0.4), False),
        ("product", Product([0.5, 1.0, 2.0, 1.5]), False),
    ):
        images = cloud(3, 50, 8, unit)
        picture_of = [i // 3 for i in range(150)]
        mixed = images[picture_of] + cloud(4, 150, 8)
        if unit:
            mixed = mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
        texts = mixed.astype(np.float32).astype(np.float64)
        scores = np.array([[space.score(x, y) for y in texts] for x in images])
        own = [{t for t, p in enumerate(picture_of) if p == i} for i in range(50)]
        for k in (1, 5, 10):
            keep(f"retrieval {name} text@{k}", recall(scores, own, k))
            keep(f"retrieval {name} image@{k}", recall(scores.T, [{p} for p in picture_of], k))


# ---- rank correlation (notation 6.5) -------------------------------------------------------------


def spearman():
    x = np.round(numbers(5, 40), 1)
    y = np.round(numbers(6, 40) + x, 1)

    def ranks(v):
        return np.array([(np.sum(v < a) + 1 + np.sum(v <= a)) / 2 for a in v])

    keep("spearman", np.corrcoef(ranks(x), ranks(y))[0, 1])


# ---- pairs of labels (notation 6.6) --------------------------------------------------------------


def breeds():
    labels, space = cloud(7, 12, 6, unit=True), Sphere(cloud(8, 1, 6, unit=True)[0])
    radii = [space.radius(p) for p in labels]
    pairs = [(a, b) if radii[a] <= radii[b] else (b, a) for a, b in combinations(range(12), 2)]
    # Every picture shows a pair; that of every tenth lies in the wrong order and is missed.
    shown = [7 * i % 66 for i in range(31)]
    gold = [None if i % 10 == 9 else at for i, at in enumerate(shown)]
    images = sum(labels[[pairs[at][end] for at in shown]] for end in (0, 1))
    images = images + 1.5 * cloud(9, 31, 6)
    images = images / np.linalg.norm(images, axis=1, keepdims=True)
    images = images.astype(np.float32).astype(np.float64)
    angle = np.array([space.angle(labels[x], labels[y]) for x, y in pairs])
    cosine = images @ labels.T
    for sign in (1, -1):
        weights = sign * np.linspace(0, 0.2, 20)
        ranks = []
        for i, of in enumerate(gold):
            plain = np.array([cosine[i, x] + cosine[i, y] for x, y in pairs])
            order = [np.argsort(-(plain + w * angle), kind="stable") for w in weights]
            ranks.append([99 if of is None else int(np.flatnonzero(o == of)[0]) for o in order])
        ranks = np.array(ranks)
        for k in (1, 5, 20):
            values = []
            for fold in (0, 1):
                other = (ranks[1 - fold :: 2] < k).mean(axis=0)
                values.append((ranks[fold::2, other.argmax()] < k).mean())
            keep(f"breeds {'plus' if sign > 0 else 'minus'} {k}", np.mean(values))


toy()
clouds()
retrieval()
spearman()
breeds()
with open(Path(__file__).with_name("eval.tsv"), "w") as out:
    out.write("# written by gen_eval.py\nname\tvalue\n")
    for name, value in ROWS:
        out.write(f"{name}\t{value:.12e}\n")

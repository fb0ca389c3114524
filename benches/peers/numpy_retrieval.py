# /// script
# requires-python = ">=3.10"
# dependencies = ["numpy>=2", "faiss-cpu>=1.9"]
# ///
"""Retrieval over precomputed embeddings: the trainer, a flat search in NumPy, and one in FAISS.

Writes random embeddings in the format of `trainer embed` and their ground truth in that of COCO. Each
program then finds the eleven best items of every query in both directions and computes recall:

    cargo xtask bench --only retrieval
    uv run benches/peers/numpy_retrieval.py --trainer target/release/trainer

Every program is a separate process. The trainer is timed from its start to its printed metrics; the
peers from opening the files to the last recall, so that the time for loading their libraries does not
count. Peak memory is that of the process. The order of the programs alternates from round to round; all
must report the same recall. The last line is one JSON object.
"""

import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

KS = (1, 5, 10)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trainer", default="target/release/trainer")
    parser.add_argument("--texts", type=int, default=200_000)
    parser.add_argument("--images", type=int, default=5_000)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--run", choices=["numpy", "faiss"], help="search the files of FOLDER, once")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


args = arguments()
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[variable] = str(args.threads)

import numpy as np  # noqa: E402: the number of threads is read on import


def write(path, rows, names):
    """Writes a safetensors file: length of the header, header, data."""
    about = {"embeddings": {"dtype": "F32", "shape": list(rows.shape), "data_offsets": [0, rows.nbytes]}}
    about["__metadata__"] = {"names": json.dumps(names)}
    header = json.dumps(about).encode()
    header += b" " * (-len(header) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(header)) + header + rows.tobytes())


def read(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        shape = json.loads(file.read(size))["embeddings"]["shape"]
        return np.fromfile(file, dtype=np.float32).reshape(shape)


def best(queries, gallery, k, block=2048):
    """Returns the k best items of each query, block by block, so that memory stays bounded."""
    found = np.empty((len(queries), k), dtype=np.int64)
    for at in range(0, len(queries), block):
        scores = queries[at : at + block] @ gallery.T
        top = np.argpartition(scores, -k, axis=1)[:, -k:]
        order = np.argsort(-np.take_along_axis(scores, top, axis=1), axis=1)
        found[at : at + block] = np.take_along_axis(top, order, axis=1)
    return found


def best_faiss(queries, gallery, k):
    import faiss

    faiss.omp_set_num_threads(args.threads)
    index = faiss.IndexFlatIP(gallery.shape[1])
    index.add(gallery)
    return index.search(queries, k)[1]


def recalls(search, folder, picture_of):
    texts, images = read(folder / "t.safetensors"), read(folder / "i.safetensors")
    to_images, to_texts = search(texts, images, 11), search(images, texts, 11)
    own = picture_of[to_texts] == np.arange(len(images))[:, None]
    values = {}
    for k in KS:
        hits = (to_images[:, :k] == picture_of[:, None]).any(axis=1)
        values[f"image_retrieval_recall@{k}"] = float(hits.mean())
        values[f"text_retrieval_recall@{k}"] = float(own[:, :k].any(axis=1).mean())
    return values


def picture_of_text():
    return np.arange(args.texts) % args.images


def child(command):
    """Returns the last line that a process prints, its seconds, and its peak memory in MiB."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command[0]} ended with exit code {process.returncode}")
    return json.loads(output.splitlines()[-1]), seconds, usage.ru_maxrss / 1024


def ours(folder):
    command = [args.trainer, "eval", "--task", "retrieval", "--json", "--data", str(folder / "captions.json")]
    command += ["--image-embeddings", str(folder / "i.safetensors")]
    command += ["--text-embeddings", str(folder / "t.safetensors")]
    said, seconds, peak = child(command)
    return {"recall": said["metrics"], "seconds": seconds, "peak_mib": peak}


def peer(name, folder):
    command = [sys.executable, __file__, "--run", name, "--folder", str(folder)]
    for size in ("texts", "images", "width", "threads"):
        command += [f"--{size}", str(getattr(args, size))]
    said, _, peak = child(command)
    return {**said, "peak_mib": peak}


def run_once():
    """Runs one peer on existing files."""
    search = best
    if args.run == "faiss":
        try:
            import faiss  # noqa: F401: loading it is not timed
        except ImportError as error:
            print(json.dumps({"skipped": str(error)}))
            return
        search = best_faiss
    start = time.perf_counter()
    found = recalls(search, args.folder, picture_of_text())
    print(json.dumps({"recall": found, "seconds": time.perf_counter() - start}))


def make(folder):
    random = np.random.default_rng(0)
    unit = lambda x: x / np.linalg.norm(x, axis=1, keepdims=True)
    images = unit(random.standard_normal((args.images, args.width), dtype=np.float32))
    picture_of = picture_of_text()
    noise = random.standard_normal((args.texts, args.width), dtype=np.float32)
    texts = unit(images[picture_of] + 0.35 * noise)
    names = [f"{i}.jpg" for i in range(args.images)]
    captions = [f"caption {i}" for i in range(args.texts)]
    write(folder / "i.safetensors", images, names)
    write(folder / "t.safetensors", texts, captions)
    index = {
        "images": [{"id": i, "file_name": name} for i, name in enumerate(names)],
        "annotations": [
            {"id": i, "image_id": int(p), "caption": c}
            for i, (p, c) in enumerate(zip(picture_of, captions))
        ],
    }
    (folder / "captions.json").write_text(json.dumps(index))


def main():
    programs = {
        "ours": ours,
        "numpy": lambda folder: peer("numpy", folder),
        "faiss": lambda folder: peer("faiss", folder),
    }
    rounds = {name: [] for name in programs}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        make(folder)
        for round_ in range(args.rounds):
            # The order alternates, so that no program always runs on the warmer machine.
            order = list(programs) if round_ % 2 == 0 else list(programs)[::-1]
            for name in order:
                found = programs[name](folder)
                rounds[name].append(found)
                if "skipped" not in found:
                    print(
                        f"round {round_ + 1}: {name} {found['seconds']:.2f} s, {found['peak_mib']:.0f} MiB",
                        file=sys.stderr,
                    )
    recall = rounds["ours"][0]["recall"]
    for name, each in rounds.items():
        for metric, value in each[0].get("recall", {}).items():
            # In single precision, items with nearly equal scores may change places.
            if abs(value - recall[metric]) > 2e-5:
                raise SystemExit(f"{metric}: expected {recall[metric]} as the trainer, found {value} by {name}")
    sizes = {"texts": args.texts, "images": args.images, "width": args.width, "threads": args.threads}
    out = {name: [{k: v for k, v in one.items() if k != "recall"} for one in each] for name, each in rounds.items()}
    print(json.dumps({**sizes, **out, "recall": recall}))


if args.run:
    run_once()
else:
    main()

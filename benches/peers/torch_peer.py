# /// script
# requires-python = ">=3.10"
# dependencies = [
#   "torch==2.15.0",
#   "numpy>=2",
#   "safetensors>=0.5",
#   "onnx>=1.19",
#   "onnxscript>=0.5",
#   "onnxruntime==1.32.0",
#   "pillow>=11",
# ]
# ///
"""PyTorch and ONNX Runtime, measured on the work of trainer/examples/throughput.

Reads one request per line from standard input, as JSON, and answers each with one line of JSON:

    {"do": "probe", "threads": N, "seconds": S}
    {"do": "check", "folder": F, "engine": "torch" or "onnx", "batch": N}
    {"do": "infer", "folder": F, "engine": "torch", "onnx" or "onnx_int8", "batch": N, "threads": N,
     "seconds": S}
    {"do": "train", "folder": F, "engine": "torch" or "torch_channels_last", "batch": N,
     "threads": N, "seconds": S}
    {"do": "folder", "folder": F, "photos": P, "threads": N}
    {"do": "export", "folder": F, "to": G}

`probe` measures many small operations, `check` answers with the largest difference from the features
in F. `folder` encodes all photos of the folder P. `export` writes the encoder as ONNX, an image and
its features into G.
"""

import json
import sys
from pathlib import Path

import onnxruntime
import torch

import folder as photo_folder
import hycoclip
from clock import timed
from inference import Inference
from training import Training


class Peer:
    def __init__(self):
        self.inferences, self.training = {}, (None, None)

    def probe(self, threads, seconds):
        torch.set_num_threads(threads)
        layers, x = torch.nn.Linear(256, 256), torch.ones(256, 256)

        @torch.inference_mode()
        def work():
            y = x
            for _ in range(16):
                y = torch.nn.functional.gelu(layers(y))

        return timed(work, seconds, 1)

    def inference(self, folder):
        if folder not in self.inferences:
            self.inferences[folder] = Inference(folder)
        return self.inferences[folder]

    def check(self, folder, engine, batch):
        return {"difference": self.inference(folder).difference(engine, batch)}

    def infer(self, folder, **request):
        return self.inference(folder).measure(**request)

    def train(self, folder, engine, batch, threads, seconds):
        # One model at a time: a step needs much memory.
        if self.training[0] != (folder, engine):
            self.training = (None, None)
            config = json.loads((Path(folder) / "config.json").read_text())
            training = Training(config, batch, engine == "torch_channels_last")
            self.training = ((folder, engine), training)
        torch.set_num_threads(threads)
        return self.training[1].measure(seconds)

    def folder(self, folder, photos, threads):
        return photo_folder.measure(self.inference(folder), photos, threads)

    def export(self, folder, to):
        return self.inference(folder).export(Path(to))


def main():
    torch.set_num_interop_threads(1)
    hycoclip.check()
    torch_version, onnx_version = torch.__version__, onnxruntime.__version__
    versions = f"PyTorch {torch_version}, ONNX Runtime {onnx_version}"
    print(json.dumps({"engine": versions}), flush=True)
    peer, work = Peer(), {"probe", "check", "infer", "train", "folder", "export"}
    for line in sys.stdin:
        request = json.loads(line)
        do = request.pop("do")
        if do not in work:
            sys.exit(f"expected one of {sorted(work)}, found {do}")
        print(json.dumps(getattr(peer, do)(**request)), flush=True)


if __name__ == "__main__":
    main()

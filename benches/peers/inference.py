"""The image encoder in PyTorch and in ONNX Runtime, with the weights that Espalier wrote."""

import contextlib
import json
import logging
import shutil
import sys
import warnings
from pathlib import Path

import onnxruntime as ort
import torch
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quantize_static,
)
from onnxruntime.quantization.shape_inference import quant_pre_process
from safetensors.numpy import load_file

from clock import timed
from networks import ImageEncoder


class Images(CalibrationDataReader):
    """Batches from which scales of activations are fitted."""

    def __init__(self, images, batch):
        self.batches = iter(images.split(batch))

    def get_next(self):
        images = next(self.batches, None)
        return None if images is None else {"images": images.numpy()}


class Inference:
    """One image encoder, from the files `config.json`, `encoder.safetensors` and
    `check.safetensors` of a folder."""

    def __init__(self, folder):
        self.folder = Path(folder)
        config = json.loads((self.folder / "config.json").read_text())
        self.encoder = ImageEncoder(config).eval()
        tensors = load_file(self.folder / "encoder.safetensors")
        state = {name: torch.from_numpy(value) for name, value in tensors.items()}
        own = self.encoder.state_dict()
        state = {name: v.view_as(own[name]) if name in own else v for name, v in state.items()}
        counters = {name: v for name, v in own.items() if name.endswith("num_batches_tracked")}
        self.encoder.load_state_dict({**counters, **state})
        check = load_file(self.folder / "check.safetensors")
        # The peers get normalised pixels in the layout that they prefer.
        planes = torch.from_numpy(check["images"])
        self.images = self.encoder.normalised(planes).contiguous()
        self.expected = torch.from_numpy(check["features"])
        self.sessions = {}

    def onnx(self, batch):
        """Returns the exported file of one batch size, which is written if missing."""
        path = self.folder / f"encoder-{batch}.onnx"
        if not path.exists():
            logging.getLogger("torch.onnx").setLevel(logging.ERROR)
            # Standard output is for answers; the exporter reports its progress there.
            with warnings.catch_warnings(), contextlib.redirect_stdout(sys.stderr):
                warnings.simplefilter("ignore")
                torch.onnx.export(
                    self.encoder, (self.images[:batch],), path, dynamo=True, verbose=False,
                    input_names=["images"], output_names=["features"], external_data=False,
                )  # fmt: skip
        return path

    def onnx_int8(self, batch):
        """Returns the file with weights and activations of 8 bits, scaled on the images."""
        path = self.folder / f"encoder-{batch}-int8.onnx"
        if not path.exists():
            prepared = self.folder / f"encoder-{batch}-prepared.onnx"
            with contextlib.redirect_stdout(sys.stderr):
                quant_pre_process(self.onnx(batch), prepared)
                quantize_static(
                    prepared, path, Images(self.images, batch), quant_format=QuantFormat.QDQ,
                    per_channel=True, activation_type=QuantType.QUInt8,
                    weight_type=QuantType.QInt8,
                )  # fmt: skip
        return path

    def export(self, folder):
        """Writes what the browser's peer needs: the encoder for one image, the image, its features."""
        shutil.copy(self.onnx(1), folder / "encoder-1.onnx")
        (folder / "image.f32").write_bytes(self.images[:1].numpy().tobytes())
        (folder / "features.f32").write_bytes(self.expected[:1].numpy().tobytes())
        return {"side": self.images.shape[-1]}

    def session(self, engine, batch, threads):
        key = (engine, batch, threads)
        if key not in self.sessions:
            options = ort.SessionOptions()
            options.intra_op_num_threads = threads
            options.inter_op_num_threads = 1
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
            path = self.onnx_int8(batch) if engine == "onnx_int8" else self.onnx(batch)
            self.sessions[key] = ort.InferenceSession(
                path, options, providers=["CPUExecutionProvider"]
            )
        return self.sessions[key]

    def runner(self, engine, batch, threads):
        """Returns a function that computes the features of the first images."""
        images = self.images[:batch].contiguous()
        if engine == "torch":
            torch.set_num_threads(threads)
            return torch.inference_mode()(lambda: self.encoder(images))
        session, given = self.session(engine, batch, threads), {"images": images.numpy()}
        return lambda: session.run(None, given)[0]

    def difference(self, engine, batch):
        """Returns the largest difference from our features, relative to the largest feature."""
        found = torch.as_tensor(self.runner(engine, batch, 1)())
        expected = self.expected[:batch]
        return ((found - expected).abs().max() / expected.abs().max()).item()

    def measure(self, engine, batch, threads, seconds):
        return timed(self.runner(engine, batch, threads), seconds, batch)

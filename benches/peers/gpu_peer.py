"""PyTorch's training steps on a GPU, beside trainer/examples/throughput; needs only PyTorch.

Reads one request per line from standard input, as JSON, and answers each with one line of JSON:

    {"do": "train", "folder": F, "batch": N, "seconds": S}
"""

import json
import sys
from pathlib import Path

import torch

from training import Training


def main():
    device = sys.argv[1]
    # The matrix products of both programs are in full precision.
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    print(json.dumps({"engine": f"PyTorch {torch.__version__} on {device}"}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        config = json.loads((Path(request["folder"]) / "config.json").read_text())
        training = Training(config, request["batch"], channels_last=False, device=device)
        print(json.dumps(training.measure(request["seconds"])), flush=True)


if __name__ == "__main__":
    main()

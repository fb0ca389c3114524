// ONNX Runtime Web with its WebAssembly backend, in a worker as our engine is.

import * as ort from "./ort/ort.wasm.bundle.min.mjs";

ort.env.wasm.numThreads = 1;
ort.env.wasm.wasmPaths = { wasm: new URL("./ort/ort-wasm-simd-threaded.wasm", import.meta.url).href };

let session;
let feeds;

const floats = async (url) => new Float32Array(await (await fetch(url)).arrayBuffer());

// The largest difference from the known features, relative to the largest of them.
const difference = (found, known) => {
  const largest = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  return largest(found.map((value, at) => value - known[at])) / largest(known);
};

const work = {
  async load({ side }) {
    const model = await (await fetch("./encoder-1.onnx")).arrayBuffer();
    session = await ort.InferenceSession.create(model, {
      executionProviders: ["wasm"],
      graphOptimizationLevel: "all",
    });
    feeds = { images: new ort.Tensor("float32", await floats("./image.f32"), [1, 3, side, side]) };
    const { features } = await session.run(feeds);
    return { difference: difference(features.data, await floats("./features.f32")) };
  },
  async run() {
    const begun = performance.now();
    await session.run(feeds);
    return performance.now() - begun;
  },
};

self.onmessage = async ({ data: { name, detail } }) => {
  try {
    self.postMessage({ value: await work[name](detail) });
  } catch (error) {
    self.postMessage({ error: String(error) });
  }
};

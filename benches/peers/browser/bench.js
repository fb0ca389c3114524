// Measures our engine and ONNX Runtime Web in alternating rounds, and sends the result to `/result`.

import { Espalier } from "./espalier.js";

const settings = await (await fetch("settings.json")).json();

const LEAST_REPEATS = 3;

class Ort {
  #worker = new Worker("ort-worker.js", { type: "module" });

  ask(name, detail) {
    return new Promise((resolve, reject) => {
      this.#worker.onerror = (event) => reject(new Error(`ort-worker.js: ${event.message}`));
      this.#worker.onmessage = ({ data: { value, error } }) =>
        error ? reject(new Error(`ONNX Runtime Web, ${name}: ${error}`)) : resolve(value);
      this.#worker.postMessage({ name, detail });
    });
  }
}

const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return (sorted[Math.floor(middle)] + sorted[Math.ceil(middle)]) / 2;
};

// Repeats the work for about `settings.seconds`, after one repeat that is not measured.
async function repeated(work) {
  await work();
  const found = [];
  const begun = performance.now();
  while (found.length < LEAST_REPEATS || performance.now() - begun < 1000 * settings.seconds) {
    found.push(await work());
  }
  return found;
}

const figures = (milliseconds) => ({
  seconds_per_image: median(milliseconds) / 1000,
  best_seconds_per_image: Math.min(...milliseconds) / 1000,
});

// A photo of random pixels. Its side is such that the evaluation crop has the side of the encoder,
// so that nothing is resized.
async function randomPhoto(side) {
  const canvas = new OffscreenCanvas(side, side);
  const context = canvas.getContext("2d");
  const pixels = context.createImageData(side, side);
  for (let at = 0; at < pixels.data.length; at++) pixels.data[at] = at % 4 === 3 ? 255 : (at * 7919) % 256;
  context.putImageData(pixels, 0, 0);
  return (await canvas.convertToBlob({ type: "image/png" })).arrayBuffer();
}

async function rounds(espalier, ort) {
  const photo = await randomPhoto(settings.photo_side);
  const programs = [
    { name: "espalier", work: async () => (await espalier.read(photo)).embed },
    { name: "ort", work: () => ort.ask("run") },
  ];
  const found = { espalier: [], ort: [] };
  for (let round = 0; round < settings.rounds; round++) {
    for (const { name, work } of round % 2 ? [...programs].reverse() : programs) {
      found[name].push(figures(await repeated(work)));
    }
  }
  return found;
}

// Median milliseconds of the stages of a photo, after the first one.
async function warmPhoto(espalier) {
  const photo = await (await fetch(`app/${settings.photo}`)).arrayBuffer();
  const first = await espalier.read(photo);
  const all = await repeated(() => espalier.read(photo));
  const stages = Object.keys(first).map((stage) => [stage, median(all.map((times) => times[stage]))]);
  return { first, warm: Object.fromEntries(stages) };
}

async function measure() {
  const site = new URL("app/", location);
  const espalier = await Espalier.start(site, new URL("models/default/", site));
  const photo = await warmPhoto(espalier);
  const ort = new Ort();
  const { difference } = await ort.ask("load", { side: settings.side });
  const browser = navigator.userAgent.match(/Chrome\/\d+/)?.[0] ?? navigator.userAgent;
  return { browser, stages: espalier.stages, photo, difference, rounds: await rounds(espalier, ort) };
}

const result = await measure().catch((error) => ({ error: String(error.stack ?? error) }));
await fetch("/result", { method: "POST", body: JSON.stringify(result) });

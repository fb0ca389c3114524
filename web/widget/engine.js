// One engine for all elements of a page that name the same model: a worker, and the messages of
// web/src/messages/protocol.rs, whose tests hold them to this file. What a result says is worked out
// in the worker, by the code that the page of Espalier runs too.

import { fault } from "./espalier-ladder.js";

const HOME = new URL("../", import.meta.url);
// A picture tower larger than this is worth the larger engine, where there is a graphics processor.
const LARGE = 16e6;
const PARTS = ["image", "captions", "taxonomy", "selftest"];
// Seconds without a word after which a worker counts as dead.
const PATIENCE = { cpu: 180, webgpu: 90 };
const ENGINES = { cpu: "worker_cpu", webgpu: "worker_gpu" };
const WORDS = {
  engine: "Fetching the engine…",
  manifest: "Fetching the model…",
  model: "Fetching the model…",
  self_test: "Testing the engine on a known picture…",
  warm_up: "Warming up…",
};

/** This page has no room for a worker of ours: another origin, or a policy that forbids it. */
export class NoWorker extends Error {}

// What the page's policy has refused so far; a fetch that it refuses looks like one that failed.
const refused = [];
document.addEventListener("securitypolicyviolation", (event) => refused.push(event.blockedURI));
const isRefused = async (url) => {
  // The browser reports after it refuses.
  await new Promise((done) => setTimeout(done, 50));
  return refused.some((uri) => uri && new URL(url).href.startsWith(uri.replace(/\?.*/, "")));
};

async function list(url) {
  try {
    const response = await fetch(url, { cache: "no-cache" });
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    return await response.json();
  } catch (error) {
    if (await isRefused(url)) throw new NoWorker("the page's policy (connect-src) does not let the model be fetched");
    const name = new URL(url).pathname.split("/").pop();
    throw fault("network", `“${name}” could not be fetched.`, "Check the connection and try again.", error);
  }
}

const lists = new Map();
const plan = (manifest) => {
  if (!lists.has(manifest)) {
    const both = Promise.all([list(new URL("engines.json", HOME)), list(manifest)]);
    // A list that failed is asked for again at the next try.
    both.catch(() => lists.delete(manifest));
    lists.set(manifest, both);
  }
  return lists.get(manifest);
};

/** Bytes that have to arrive before a first answer, from lists of a few kilobytes. */
export async function sizes(manifest) {
  const [engines, { files }] = await plan(manifest);
  const first = files.filter(({ part, shard }) => PARTS.includes(part) && !shard);
  const sum = (of) => of.reduce((bytes, file) => bytes + file.bytes, 0);
  const tower = sum(files.filter(({ part }) => part === "image"));
  const backend = tower > LARGE && (await hasGpu()) ? "webgpu" : "cpu";
  const model = sum(first);
  const engine = engines[ENGINES[backend]].bytes;
  return { backend, folder: new URL(engines.folder, HOME), engine, cpu: engines.worker_cpu.bytes, model, total: engine + model };
}

/** A real graphics processor: a software adapter is slower than the CPU engine. */
async function hasGpu() {
  try {
    const adapter = await navigator.gpu?.requestAdapter({ powerPreference: "high-performance" });
    const { vendor = "", architecture = "", description = "", isFallbackAdapter } = adapter?.info ?? {};
    const software = /swiftshader|llvmpipe|lavapipe|basic render/i.test(`${vendor} ${architecture} ${description}`);
    return Boolean(adapter) && !isFallbackAdapter && !software;
  } catch {
    return false;
  }
}

const running = new Map();

/** The engine of a model, shared by all who join it. `heard(name, detail)` is told what it does. */
export function join(manifest, user, heard) {
  if (!running.has(manifest)) running.set(manifest, new Engine(manifest));
  const engine = running.get(manifest);
  engine.users.set(user, heard);
  if (engine.info) heard("ready", engine.info);
  return engine;
}

class Engine {
  users = new Map();
  info = null;
  #manifest;
  #worker = null;
  #plan;
  #loaded = { engine: 0, model: 0 };
  #asked = []; // what waits for an answer, in the order in which the worker answers it
  #queue = Promise.resolve(); // one photo after the other: a worker drops those that are overtaken
  #last = 0;
  #settle; // of `ready`
  #clock = null;

  constructor(manifest) {
    this.#manifest = manifest;
    this.#promise();
    this.#start();
  }

  #promise() {
    this.ready = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
    this.ready.catch(() => {});
  }

  /** Ends the engine when the last one leaves; its memory is freed with it. */
  leave(user) {
    this.users.delete(user);
    if (this.users.size === 0) this.#end(fault("engine", "The engine was stopped.", "Try again to go on."));
  }

  /** Reads a photo, at or below a node of the taxonomy where one is given. */
  read(photo, below = null) {
    const turn = this.#queue.then(async () => {
      await this.ready;
      const id = ++this.#last;
      const bytes = await photo.arrayBuffer();
      let json = await this.#ask("result", id, { type: "caption", id }, bytes);
      if (below) json = await this.#ask("result", id, { type: "rank", id, below });
      return { id, result: JSON.parse(json), told: await this.#ask("phrased", id, { type: "phrase", id, json }) };
    });
    this.#queue = turn.catch(() => {});
    return turn;
  }

  /** Where a node lies, seen from a photo. */
  place(id, node) {
    return this.#ask("placed", id, { type: "place", id, node });
  }

  async #start(passedOver = null) {
    try {
      this.#plan = await sizes(this.#manifest);
      if (passedOver) this.#plan = { ...this.#plan, backend: "cpu", engine: this.#plan.cpu };
      this.#run();
    } catch (error) {
      this.#end(error);
    }
  }

  #run() {
    const { backend, folder } = this.#plan;
    const url = new URL(`worker.js?engine=${ENGINES[backend]}`, folder);
    try {
      this.#worker = new Worker(url, { type: "module" });
    } catch (error) {
      throw new NoWorker(`a worker of ${HOME.origin} may not start on this page (${error.name})`);
    }
    let booted = false;
    this.#worker.onmessage = ({ data }) => {
      booted = true;
      this.#hear(JSON.parse(data));
    };
    this.#worker.onerror = async (event) => {
      event.preventDefault();
      const refusal = !booted && (await isRefused(url));
      if (refusal) this.#end(new NoWorker("the page's policy (worker-src) does not let a worker start"));
      else this.#lost(fault("engine", "The engine stopped.", "Try again, with a smaller photo perhaps.", event.message));
    };
    this.#patient();
  }

  #hear(message) {
    this.#patient();
    const handle = {
      booted: () => this.#send({ type: "load", manifest_url: this.#manifest }),
      progress: ({ stage, loaded, total, file }) => this.#progress(stage, loaded, total, file),
      ready: ({ type, ...info }) => this.#ready(info),
      result: ({ id, json }) => this.#answer("result", id, json),
      finer: ({ id, json }) => this.#finer(id, json),
      phrased: ({ id, told }) => this.#answer("phrased", id, told),
      placed: ({ id, place, sentence }) => this.#answer("placed", id, { ...place, sentence }),
      superseded: ({ id }) => this.#refuse(id, fault("photo", "A newer photo was read instead.", "Give it once more.")),
      failed: ({ id, fatal, error }) => (fatal ? this.#lost(error) : this.#refuse(id, error)),
    };
    handle[message.type]?.(message);
    this.#patient();
  }

  #progress(stage, loaded, total, file) {
    const { engine, model } = this.#plan;
    if (stage === "engine") this.#loaded.engine = Math.max(this.#loaded.engine, Math.min(loaded, engine));
    else this.#loaded.engine = engine;
    if (stage === "model") this.#loaded.model = Math.max(this.#loaded.model, Math.min(loaded, model));
    else if (stage !== "engine" && stage !== "manifest") this.#loaded.model = model;
    this.#all("progress", {
      stage,
      loaded: this.#loaded.engine + this.#loaded.model,
      total: engine + model,
      file,
      words: WORDS[stage] ?? "",
    });
  }

  #ready(info) {
    this.info = info;
    this.#all("ready", info);
    this.#settle.resolve();
  }

  /** Captions that arrived after the first answer have made it finer. */
  async #finer(id, json) {
    const told = await this.#ask("phrased", id, { type: "phrase", id, json });
    this.#all("finer", { id, result: JSON.parse(json), told });
  }

  /** The worker is gone. The graphics processor gives way to the CPU; the CPU to nothing. */
  #lost(error) {
    const { backend } = this.#plan;
    if (backend === "webgpu" && !["bundle", "network", "photo"].includes(error.cause)) {
      this.#worker.terminate();
      // Whoever waits for the first engine waits for the second; one that was ready no longer is.
      if (this.info) this.#promise();
      this.info = null;
      this.#all("fallback", { from: "webgpu", to: "cpu", reason: error.what });
      const again = [...this.#asked];
      this.#start("webgpu").then(() => again.length && this.#again(again));
      return;
    }
    this.#end(error);
  }

  /** Asks once more, of the next engine, what the last one took with it. */
  async #again(asked) {
    await this.ready;
    for (const { request, photo } of asked) this.#send(request, photo);
  }

  #end(error) {
    clearTimeout(this.#clock);
    if (running.get(this.#manifest) === this) running.delete(this.#manifest);
    this.#worker?.terminate();
    this.#worker = null;
    this.#settle.reject(error);
    for (const { reject } of this.#asked.splice(0)) reject(error);
    this.ended = true;
  }

  #ask(kind, id, request, bytes) {
    if (this.ended) return Promise.reject(fault("engine", "The engine was stopped.", "Try again to go on."));
    // Kept until the answer is here: a graphics processor may be lost on the way.
    const photo = bytes && this.#plan.backend === "webgpu" ? bytes.slice(0) : null;
    return new Promise((resolve, reject) => {
      this.#asked.push({ kind, id, resolve, reject, request, photo });
      this.#send(request, bytes);
      this.#patient();
    });
  }

  #send(request, bytes = null) {
    this.#worker?.postMessage([JSON.stringify(request), bytes], bytes ? [bytes] : []);
  }

  #answer(kind, id, value) {
    const at = this.#asked.findIndex((asked) => asked.kind === kind && asked.id === id);
    if (at >= 0) this.#asked.splice(at, 1)[0].resolve(value);
  }

  #refuse(id, error) {
    const refused = this.#asked.filter((asked) => asked.id === id);
    this.#asked = this.#asked.filter((asked) => asked.id !== id);
    for (const { reject } of refused) reject(error);
  }

  #all(name, detail) {
    for (const heard of [...this.users.values()]) heard(name, detail);
  }

  /** Starts the clock of the worker's silence again; silence is normal where nothing is asked. */
  #patient() {
    clearTimeout(this.#clock);
    if (this.ended || (this.info && this.#asked.length === 0)) return;
    const seconds = PATIENCE[this.#plan.backend];
    const silent = () => this.#lost(fault("engine", `The engine gave no sign of life for ${seconds} seconds.`, "Try once more."));
    this.#clock = setTimeout(silent, seconds * 1000);
  }
}

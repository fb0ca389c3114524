// The engine: one worker for all elements of a page that use the same model. It exchanges the
// messages of web/src/messages/protocol.rs; the tests there read this file. The worker also turns
// results into text, with the code of the page of Espalier.

/** An error in the form of all events and messages: its cause, what happened and what to do. */
export const makeError = (cause, what, todo, detail) => ({ cause, what, todo, detail: detail ? String(detail.message ?? detail) : null });

const PAGE_URL = new URL("../", import.meta.url);
// An image encoder with more bytes than this runs on WebGPU if there is a graphics processor,
// although that engine is a larger download.
const LARGE_ENCODER = 16e6;
const PARTS = ["image", "captions", "taxonomy", "statements", "selftest"];
// The page of Espalier stores the names taught to a model under this prefix and the model's hash.
const TAUGHT_PREFIX = "espalier-taught-";
// Seconds without a message after which a worker counts as dead.
const TIMEOUT_SECONDS = { cpu: 180, webgpu: 90 };
const ENGINES = { cpu: "worker_cpu", webgpu: "worker_gpu" };
const STAGE_TEXTS = {
  engine: "Downloading the engine…",
  manifest: "Downloading the model…",
  model: "Downloading the model…",
  self_test: "Testing the engine on a known image…",
  warm_up: "Warming up…",
};

/** The page cannot start a worker of Espalier: it has another origin, or a policy forbids it. */
export class NoWorker extends Error {}

// Addresses that the page's policy has blocked so far. A blocked fetch looks like a failed one.
const blocked = [];
document.addEventListener("securitypolicyviolation", ({ blockedURI }) => blocked.push(blockedURI));
const isBlocked = async (url) => {
  // The browser reports a violation only after it has blocked the request.
  await new Promise((done) => setTimeout(done, 50));
  return blocked.some((uri) => uri && new URL(url).href.startsWith(uri.replace(/\?.*/, "")));
};

const isReachable = (url) =>
  fetch(url, { method: "HEAD", cache: "no-store" }).then(
    ({ ok }) => ok,
    () => false,
  );

async function fetchJson(url) {
  try {
    const response = await fetch(url, { cache: "no-cache" });
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    return await response.json();
  } catch (error) {
    if (await isBlocked(url)) throw new NoWorker("the page's policy (connect-src) does not allow the model to be fetched");
    const name = new URL(url).pathname.split("/").pop();
    throw makeError("network", `“${name}” could not be fetched.`, "Check the connection and try again.", error);
  }
}

const lists = new Map();
const readLists = (manifest) => {
  if (!lists.has(manifest)) {
    const both = Promise.all([fetchJson(new URL("engines.json", PAGE_URL)), fetchJson(manifest)]);
    // A list that could not be fetched is requested again at the next attempt.
    both.catch(() => lists.delete(manifest));
    lists.set(manifest, both);
  }
  return lists.get(manifest);
};

/**
 * The bytes to fetch before a first answer, as they are sent, read from lists of a few kilobytes.
 * `unpacked` is the size of the engine as it arrives in the worker, which counts these bytes.
 */
export async function sizes(manifest) {
  const [engines, { files }] = await readLists(manifest);
  const first = files.filter(({ part, shard }) => PARTS.includes(part) && !shard);
  const sum = (of) => of.reduce((bytes, file) => bytes + file.bytes, 0);
  const encoder = sum(files.filter(({ part }) => part === "image"));
  const backend = encoder > LARGE_ENCODER && engines.worker_gpu && (await hasGpu()) ? "webgpu" : "cpu";
  const model = sum(first);
  const { wire: engine, bytes: unpacked } = engines[ENGINES[backend]];
  return { backend, folder: new URL(engines.folder, PAGE_URL), engine, unpacked, cpu: engines.worker_cpu, model, total: engine + model };
}

/** Whether there is a hardware adapter; a software adapter is slower than the CPU engine. */
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

/** The engine of a model, shared by all its users. `listener(name, detail)` receives its events. */
export function join(manifest, user, listener) {
  if (!running.has(manifest)) running.set(manifest, new Engine(manifest));
  const engine = running.get(manifest);
  engine.users.set(user, listener);
  if (engine.info) listener("ready", engine.info);
  return engine;
}

class Engine {
  users = new Map();
  info = null;
  #manifest;
  #worker = null;
  #plan;
  #loaded = { engine: 0, model: 0 };
  #pending = []; // requests without an answer yet, in the order in which the worker answers them
  #queue = Promise.resolve(); // one photo after the other, since a worker skips superseded ones
  #lastId = 0;
  #settle; // the functions that settle `ready`
  #timeout = null;

  constructor(manifest) {
    this.#manifest = manifest;
    this.#resetReady();
    this.#start();
  }

  #resetReady() {
    this.ready = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
    this.ready.catch(() => {});
  }

  /** Removes a user; without users the engine ends, which frees its memory. */
  leave(user) {
    this.users.delete(user);
    if (this.users.size === 0) this.#end(makeError("engine", "The engine was stopped.", "Try again to continue."));
  }

  /** Reads a photo; with `below`, it is known to show something at or below that node. */
  read(photo, below = null) {
    const turn = this.#queue.then(async () => {
      await this.ready;
      const id = ++this.#lastId;
      const bytes = await photo.arrayBuffer();
      let json = await this.#request("result", id, { type: "caption", id }, bytes);
      if (below) json = await this.#request("result", id, { type: "rank", id, below });
      return { id, result: JSON.parse(json), narration: await this.#request("narrated", id, { type: "narrate", id, json }) };
    });
    this.#queue = turn.catch(() => {});
    return turn;
  }

  /** The place of a node relative to a photo. */
  place(id, node) {
    return this.#request("lineage", id, { type: "lineage", id, node });
  }

  async #start(gpuFailed = false) {
    try {
      this.#plan = await sizes(this.#manifest);
      if (gpuFailed) this.#plan = { ...this.#plan, backend: "cpu", engine: this.#plan.cpu.wire, unpacked: this.#plan.cpu.bytes };
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
      throw new NoWorker(`a worker of ${PAGE_URL.origin} cannot start on this page (${error.name})`);
    }
    let booted = false;
    this.#worker.onmessage = ({ data }) => {
      booted = true;
      this.#onMessage(JSON.parse(data));
    };
    this.#worker.onerror = async (event) => {
      event.preventDefault();
      const isPolicy = !booted && (await isBlocked(url));
      if (isPolicy) this.#end(new NoWorker("the page's policy (worker-src) does not allow a worker"));
      else if (!booted && !(await isReachable(url))) {
        this.#end(makeError("network", `${url.host} did not send the engine.`, "Check the connection and try again.", event.message));
      } else this.#onLost(makeError("engine", "The engine stopped.", "Try again, perhaps with a smaller photo.", event.message));
    };
    this.#restartTimeout();
  }

  #onMessage(message) {
    this.#restartTimeout();
    const handle = {
      booted: () => this.#send({ type: "load", manifest_url: this.#manifest }),
      progress: ({ stage, loaded, total, file }) => this.#progress(stage, loaded, total, file),
      ready: ({ type, ...info }) => this.#ready(info),
      result: ({ id, json }) => this.#answer("result", id, json),
      finer: ({ id, json }) => this.#finer(id, json).catch(() => {}),
      narrated: ({ id, narration }) => this.#answer("narrated", id, narration),
      lineage: ({ id, lineage, sentence }) => this.#answer("lineage", id, { ...lineage, sentence }),
      superseded: ({ id }) => this.#fail(id, makeError("photo", "A newer photo was read instead.", "Choose it again.")),
      failed: ({ id, fatal, error }) => (fatal ? this.#onLost(error) : this.#fail(id, error)),
    };
    handle[message.type]?.(message);
    this.#restartTimeout();
  }

  #progress(stage, loaded, total, file) {
    const { engine, unpacked, model } = this.#plan;
    const sent = Math.round((Math.min(loaded, unpacked) / unpacked) * engine);
    if (stage === "engine") this.#loaded.engine = Math.max(this.#loaded.engine, sent);
    else this.#loaded.engine = engine;
    if (stage === "model") this.#loaded.model = Math.max(this.#loaded.model, Math.min(loaded, model));
    else if (stage !== "engine" && stage !== "manifest") this.#loaded.model = model;
    this.#notifyAll("progress", {
      stage,
      loaded: this.#loaded.engine + this.#loaded.model,
      total: engine + model,
      file,
      words: STAGE_TEXTS[stage] ?? "",
    });
  }

  #ready(info) {
    this.info = info;
    this.#teach(info);
    this.#notifyAll("ready", info);
    this.#settle.resolve();
  }

  /** Teaches the names that were taught to this model on the page of Espalier in this browser. */
  #teach({ sha256 }) {
    try {
      const { concepts } = JSON.parse(localStorage.getItem(TAUGHT_PREFIX + sha256));
      this.#send({ type: "query", id: 0, query: { teach: { concepts } } });
    } catch {
      // Nothing was taught, or storage is not allowed.
    }
  }

  /** Handles a finer answer, from captions that arrived after the first one. */
  async #finer(id, json) {
    const narration = await this.#request("narrated", id, { type: "narrate", id, json });
    this.#notifyAll("finer", { id, result: JSON.parse(json), narration });
  }

  /** Handles the loss of the worker: WebGPU falls back to the CPU engine, which has no fallback. */
  #onLost(error) {
    const { backend } = this.#plan;
    if (backend === "webgpu" && !["bundle", "network", "photo"].includes(error.cause)) {
      this.#worker.terminate();
      // Users that wait for the first engine now wait for the second; `ready` is reset if it was settled.
      if (this.info) this.#resetReady();
      this.info = null;
      this.#notifyAll("fallback", { from: "webgpu", to: "cpu", reason: error.what });
      const unanswered = [...this.#pending];
      this.#start(true).then(() => unanswered.length && this.#resend(unanswered));
      return;
    }
    this.#end(error);
  }

  /** Sends the unanswered requests of the lost engine to the next one. */
  async #resend(requests) {
    await this.ready;
    for (const { request, photo } of requests) this.#send(request, photo);
  }

  #end(error) {
    clearTimeout(this.#timeout);
    if (running.get(this.#manifest) === this) running.delete(this.#manifest);
    this.#worker?.terminate();
    this.#worker = null;
    this.#settle.reject(error);
    for (const { reject } of this.#pending.splice(0)) reject(error);
    this.ended = true;
  }

  #request(kind, id, request, bytes) {
    if (this.ended) return Promise.reject(makeError("engine", "The engine was stopped.", "Try again to continue."));
    // A copy for the next engine, in case the graphics processor is lost before the answer.
    const photo = bytes && this.#plan.backend === "webgpu" ? bytes.slice(0) : null;
    return new Promise((resolve, reject) => {
      this.#pending.push({ kind, id, resolve, reject, request, photo });
      this.#send(request, bytes);
      this.#restartTimeout();
    });
  }

  #send(request, bytes = null) {
    this.#worker?.postMessage([JSON.stringify(request), bytes], bytes ? [bytes] : []);
  }

  #answer(kind, id, value) {
    const index = this.#pending.findIndex((request) => request.kind === kind && request.id === id);
    if (index >= 0) this.#pending.splice(index, 1)[0].resolve(value);
  }

  #fail(id, error) {
    const failed = this.#pending.filter((request) => request.id === id);
    this.#pending = this.#pending.filter((request) => request.id !== id);
    for (const { reject } of failed) reject(error);
  }

  #notifyAll(name, detail) {
    for (const listener of [...this.users.values()]) listener(name, detail);
  }

  /** Restarts the timeout for a silent worker; without a pending request, silence is normal. */
  #restartTimeout() {
    clearTimeout(this.#timeout);
    if (this.ended || (this.info && this.#pending.length === 0)) return;
    const seconds = TIMEOUT_SECONDS[this.#plan.backend];
    const onTimeout = () => this.#onLost(makeError("engine", `The engine gave no sign of life for ${seconds} seconds.`, "Try again."));
    this.#timeout = setTimeout(onTimeout, seconds * 1000);
  }
}

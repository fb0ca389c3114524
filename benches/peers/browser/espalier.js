// The CPU engine of the built page, in its own worker. The messages are those of
// web/src/messages/protocol.rs.

export class Espalier {
  #worker;
  #lastId = 0;
  #settle = {};
  // Milliseconds from the start of the worker to the first message of each stage.
  stages = {};

  /** Starts the worker, and loads the model as the page does. */
  static async start(site, model) {
    const { folder } = await (await fetch(new URL("engines.json", site))).json();
    const engine = new Espalier();
    const begun = performance.now();
    engine.#worker = new Worker(new URL(`${folder}worker.js?engine=worker_cpu`, site), { type: "module" });
    await new Promise((resolve, reject) => {
      engine.#settle = { ready: resolve, reject };
      engine.#worker.onerror = (event) => engine.#settle.reject(new Error(event.message));
      engine.#worker.onmessage = ({ data }) => {
        const message = JSON.parse(data);
        const stage = message.stage ?? message.type;
        engine.stages[stage] ??= performance.now() - begun;
        engine.#onMessage(message, new URL("manifest.json", model).href);
      };
    });
    return engine;
  }

  #onMessage(message, manifest_url) {
    const { type, error } = message;
    if (type === "booted") this.#worker.postMessage([JSON.stringify({ type: "load", manifest_url }), null]);
    if (type === "ready") this.#settle.ready();
    if (type === "result") this.#settle.result(JSON.parse(message.json));
    if (type === "failed") this.#settle.reject(new Error(`${error.what} ${error.detail ?? ""}`));
  }

  /** Reads a photo; returns the milliseconds of its stages, and from the request to the answer. */
  async read(photo) {
    const bytes = photo.slice(0);
    const begun = performance.now();
    const { timing_ms } = await new Promise((result, reject) => {
      this.#settle = { result, reject };
      this.#worker.postMessage([JSON.stringify({ type: "caption", id: ++this.#lastId }), bytes], [bytes]);
    });
    return { ...timing_ms, answer: performance.now() - begun };
  }
}

// Starts one engine inside a worker: `worker.js?engine=worker_cpu&v=<hash>`.
//
// It does three things that wasm cannot do for itself: count the engine's own bytes while they
// arrive, report a start that fails, and report a crash that leaves no Rust code running. The
// messages are those of web/src/engine/protocol.rs, whose tests hold them to this file.
import "./sent.js";

const query = new URL(self.location.href).searchParams;
const engine = query.get("engine");
const version = query.get("v");
const sibling = (name) => {
  const url = new URL(name, self.location.href);
  if (version) url.searchParams.set("v", version);
  return url;
};
const say = (message) => self.postMessage(JSON.stringify(message));
const fail = (what, error) =>
  say({
    type: "failed",
    id: null,
    fatal: true,
    error: {
      cause: "engine",
      what,
      todo: "Reload the page. If it stays so, use a newer browser.",
      detail: String((error && (error.message || error.reason)) || error),
    },
  });

self.addEventListener("unhandledrejection", (event) => fail("The engine stopped.", event.reason));
self.addEventListener("error", (event) => fail("The engine stopped.", event.error || event));

// The response with its bytes counted on the way; the browser still compiles while it streams.
const counted = (response, file) => {
  let loaded = 0;
  const counter = new TransformStream({
    transform(chunk, controller) {
      loaded += chunk.byteLength;
      say({ type: "progress", stage: "engine", loaded, total: 0, file });
      controller.enqueue(chunk);
    },
  });
  return new Response(response.body.pipeThrough(counter), {
    headers: { "Content-Type": "application/wasm" },
  });
};

try {
  if (!/^worker_[a-z]+$/.test(engine)) throw new Error(`no engine is called ${engine}`);
  const file = `${engine}_bg.wasm`;
  const [{ default: init }, response] = await Promise.all([
    import(sibling(`${engine}.js`)),
    fetch(sibling(file)),
  ]);
  if (!response.ok) throw new Error(`${file}: the server answered ${response.status}`);
  await init({ module_or_path: counted(response, file) });
} catch (error) {
  fail("The engine could not be started.", error);
}

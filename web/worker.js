// Starts one engine inside a worker: `worker.js?engine=worker_cpu`.
//
// It does four things that wasm cannot do for itself: count the engine's own bytes while they
// arrive, keep them for a visit without a network, report a start that fails, and report a crash
// that leaves no Rust code running. The messages are those of web/src/messages/protocol.rs, whose
// tests hold them to this file. The folder that it lies in is named after the content of its files,
// so that what is kept of one build is never mixed with another.
import "./sent.js";

const engine = new URL(self.location.href).searchParams.get("engine");
const sibling = (name) => new URL(name, self.location.href);
// The service worker's caches begin with the same words, and the page deletes all of them together.
const KEPT = "espalier-app-engines";
const say = (message) => self.postMessage(JSON.stringify(message));
const fail = (what, error, cause = "engine", todo = "Reload the page. If it stays so, use a newer browser.") =>
  say({
    type: "failed",
    id: null,
    fatal: true,
    error: { cause, what, todo, detail: String((error && (error.message || error.reason)) || error) },
  });

/** A file of the engine did not arrive. */
class NotFetched extends Error {}

/** The same promise; a request that fails is a `NotFetched`. Fetches and imports fail with a TypeError. */
const fetched = (promise, file) =>
  promise.catch((error) => {
    throw error instanceof TypeError ? new NotFetched(`${file}: ${error.message}`) : error;
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

// Nothing here is an error: without a cache, or with a full one, the engine is fetched each time.
const kept = async (url) => (self.caches ? caches.match(url, { cacheName: KEPT }).catch(() => null) : null);
const keep = async (url, response) => {
  if (!self.caches) return;
  try {
    const cache = await caches.open(KEPT);
    await cache.put(url, response);
    const place = sibling("../").href;
    for (const { url: other } of await cache.keys()) {
      if (other.startsWith(place) && !other.startsWith(sibling("./").href)) await cache.delete(other);
    }
  } catch {
    // Storage is full or forbidden.
  }
};

try {
  if (!/^worker_[a-z]+$/.test(engine)) throw new Error(`no engine is called ${engine}`);
  const file = `${engine}_bg.wasm`;
  const url = sibling(file).href;
  const script = `${engine}.js`;
  const [{ default: init }, old] = await Promise.all([fetched(import(sibling(script)), script), kept(url)]);
  const response = old ?? (await fetched(fetch(url), file));
  if (!response.ok) throw new NotFetched(`${file}: the server answered ${response.status}`);
  if (!old) keep(url, response.clone());
  await init({ module_or_path: counted(response, file) });
} catch (error) {
  if (error instanceof NotFetched) fail("The engine could not be fetched.", error, "network", "Check the connection and try again.");
  else fail("The engine could not be started.", error);
}

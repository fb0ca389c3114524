// The page without a network: keeps the program of the last visit and hands it out.
//
// Files whose names change with their content are handed out as they were kept. The few whose names
// stay (the page itself, the lists of engines and of the model's files) are asked for anew, and kept
// ones are used where the network does not answer in time. Models and engines are kept by the worker
// that uses them, and no photo ever passes through here: it is never part of a request.

// Filled in by the build.
const BUILD = { version: "", shell: [] };
const SCOPE = new URL(self.registration.scope);
const PREFIX = `espalier-app-page ${SCOPE.pathname} `;
const CACHE = PREFIX + BUILD.version;
// Milliseconds after which a network counts as absent: a phone in a lift has one that never answers.
const PATIENCE = 4000;
const PAGE = "index.html";
// Names that stay while their content changes.
const LISTS = /^(index\.html|engines\.json|models\/.*manifest\.json)$/;

// A page's address may end in its folder, and says in its query what the visitor wants.
const name = (url) => url.pathname.slice(SCOPE.pathname.length) || PAGE;
const key = (url) => new URL(name(url), SCOPE).href;

self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => event.waitUntil(activate()));
self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || !url.href.startsWith(SCOPE.href) || request.headers.has("Range")) return;
  if (LISTS.test(name(url))) event.respondWith(newest(event));
  else if (BUILD.shell.includes(name(url))) event.respondWith(fixed(event));
});

async function install() {
  const cache = await caches.open(CACHE);
  const add = async (file) => {
    const response = await fetch(new Request(new URL(file, SCOPE), { cache: "no-cache" }));
    if (!response.ok) throw new Error(`${file}: the server answered ${response.status}`);
    await cache.put(key(new URL(file, SCOPE)), response);
  };
  await Promise.all(BUILD.shell.map(add));
  await self.skipWaiting();
}

async function activate() {
  const old = (await caches.keys()).filter((cache) => cache.startsWith(PREFIX) && cache !== CACHE);
  await Promise.all(old.map((cache) => caches.delete(cache)));
  await self.clients.claim();
}

async function fixed({ request }) {
  const kept = await caches.match(key(new URL(request.url)), { cacheName: CACHE });
  // Without an address of its own, or a worker would take that for its own and lose its query.
  return kept ? new Response(kept.body, kept) : fetch(request);
}

async function newest(event) {
  const { request } = event;
  const at = key(new URL(request.url));
  const kept = await caches.match(at, { cacheName: CACHE });
  const asked = fetch(request).then(async (response) => {
    if (response.ok) {
      const copy = response.clone();
      event.waitUntil(caches.open(CACHE).then((cache) => cache.put(at, copy)).catch(() => {}));
    }
    return response;
  });
  if (!kept) return asked;
  const late = new Promise((resolve) => setTimeout(resolve, PATIENCE));
  const first = await Promise.race([asked.catch(() => null), late]);
  return first ?? kept;
}

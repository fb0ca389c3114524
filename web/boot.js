// Starts the page's wasm. Kept out of the HTML so that the content policy needs no inline script,
// and so that a start that fails leaves words on the screen instead of nothing.
const tag = document.querySelector("script[data-wasm]");
try {
  // A page around this one could cover or move what a visitor presses, such as the camera's button. The
  // header that forbids frames belongs to the server, and many hosts of files have none. For other
  // pages there is widget/frame.html, which has no such button.
  if (window !== window.top) {
    const words = document.createElement("p");
    words.className = "crash";
    words.id = "framed";
    const link = document.createElement("a");
    link.href = "./";
    link.target = "_blank";
    link.rel = "noopener";
    link.textContent = "Open it in a tab of its own.";
    words.append("Espalier does not run inside another page. ", link);
    document.body.replaceChildren(words);
    throw new Error("the page is inside a frame");
  }
  const { default: init } = await import(new URL(tag.dataset.module, document.baseURI));
  await init({ module_or_path: new URL(tag.dataset.wasm, document.baseURI) });
} catch (error) {
  const note = document.getElementById("boot-note");
  if (note) {
    note.dataset.state = "failed";
    note.setAttribute("role", "alert");
    note.textContent =
      "The page could not start. Reload it; if that does not help, open it in a newer browser " +
      "(Chrome or Edge 114, Firefox 114, Safari 16.4 and later). What the browser says: " +
      (error && error.message ? error.message : error);
  }
  throw error;
}
// Once the page runs, so that keeping it for later does not slow its start. Without a service worker
// (an old browser, an address that is not secure) the page needs the network and is otherwise whole.
navigator.serviceWorker?.register(new URL("sw.js", document.baseURI), { updateViaCache: "none" }).catch(() => {});

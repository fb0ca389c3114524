// <espalier-ladder>: a photo's ladder of captions on any page.
//
// A page loads only this file until a visitor asks for an answer: the element, its poster and its
// button. The other files are fetched when they are needed: engine.js reads photos in a worker,
// view.js draws the answer, and frame.js replaces both on pages whose policy allows no worker.
// docs/embedding.md lists the attributes, events and style hooks.

const SCRIPT_FOLDER = new URL(".", import.meta.url);
const ATTRIBUTES = ["src", "model", "taxonomy", "level", "poster", "loading", "reveal", "theme", "alt", "credit"];
const GLOBAL_ATTRIBUTES = /^(class|id|slot|title|lang|dir|hidden|style|role|tabindex|part|width|height)$|^(data-|aria-)/;
// Storage key of a marker that is set during a load. If a page finds it, the load before has crashed.
const CRASH_KEY = "espalier-loading";

// A server has no style sheets and no elements: there this module defines nothing, and can be imported.
const onPage = "customElements" in globalThis;

const DARK = `color-scheme: dark;
  --_bg: var(--espalier-bg, #211c18); --_fg: var(--espalier-fg, #f0e9de); --_soft: var(--espalier-soft, #b9ad9d);
  --_line: var(--espalier-line, #3d352c); --_accent: var(--espalier-accent, #93c898);
  --_on: var(--espalier-on-accent, #13200f); --_wash: var(--espalier-wash, #24362a); --_fault: var(--espalier-fault, #eb9c80);`;
const sheet = onPage ? new CSSStyleSheet() : null;
sheet?.replaceSync(`
:host {
  --_bg: var(--espalier-bg, #fdfaf4); --_fg: var(--espalier-fg, #241f19);
  --_soft: var(--espalier-soft, #5d5347); --_line: var(--espalier-line, #d8cdbb);
  --_accent: var(--espalier-accent, #2c6a3f); --_on: var(--espalier-on-accent, #fff);
  --_wash: var(--espalier-wash, #dfe9d8); --_fault: var(--espalier-fault, #993f22);
  --_serif: var(--espalier-serif, "Iowan Old Style", "Palatino Linotype", Palatino, "URW Palladio L", P052, Georgia, serif);
  display: block; position: relative; height: 28rem; container-type: inline-size; color-scheme: light;
  color: var(--_fg); font: 1rem/1.5 var(--espalier-font, system-ui, -apple-system, "Segoe UI", Roboto, sans-serif);
}
:host([hidden]) { display: none; }
@media (prefers-color-scheme: dark) { :host(:not([theme="light"])) { ${DARK} } }
:host([theme="dark"]) { ${DARK} }
*, *::before, *::after { box-sizing: border-box; }
.box { position: absolute; inset: 0; overflow: hidden; background: var(--_bg);
  border: 1px solid var(--_line); border-radius: var(--espalier-radius, .75rem); }
.photo { position: absolute; inset: 0; }
.photo img, .photo canvas, .frame { display: block; width: 100%; height: 100%; border: 0; object-fit: cover; }
.frame { position: absolute; inset: 0; background: var(--_bg); }
.photo.empty { display: grid; place-items: center; padding: 1rem 1rem 5rem; text-align: center; color: var(--_soft); }
.bar { position: absolute; inset: auto 0 0; display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1rem;
  padding: .75rem 1rem; background: color-mix(in srgb, var(--_bg) 92%, transparent); border-top: 1px solid var(--_line); }
.bar > p { flex: 1 1 11rem; min-width: 0; margin: 0; font-size: .875rem; line-height: 1.4; color: var(--_soft); }
.bar > p.fault { color: var(--_fault); }
.bar a { color: inherit; }
progress { position: absolute; inset: -.1875rem 0 auto; width: 100%; height: .375rem; accent-color: var(--_accent); }
button, .button { display: inline-flex; align-items: center; min-height: 2.75rem; padding: .375rem 1.25rem; border: 1px solid var(--_accent);
  border-radius: 99rem; background: var(--_accent); color: var(--_on); font: 500 1rem/1.2 inherit; font-family: inherit; cursor: pointer; }
button.quiet, .button.quiet { border-color: color-mix(in srgb, var(--_fg) 45%, transparent); background: transparent; color: var(--_fg); }
:focus-visible, .button:has(:focus-visible) { outline: 3px solid var(--_accent); outline-offset: 2px; }
.credit { position: absolute; top: .5rem; left: .5rem; padding: .125rem .5rem; border-radius: 99rem; font-size: .75rem;
  background: color-mix(in srgb, var(--_bg) 85%, transparent); color: var(--_soft); text-decoration: none; }
/* Words on an accent of the page's own: black or white, whichever stands out more. */
@supports (color: oklch(from red l c h)) {
  button:not(.quiet), .button:not(.quiet) { color: var(--espalier-on-accent, oklch(from var(--_accent) clamp(0, (.57 - l) * 1000, 1) 0 0)); } }
.over .box { outline: 3px dashed var(--_accent); outline-offset: -6px; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
[hidden] { display: none !important; }
`);

/** `make("p", { class: "note" }, "words")`: an element with attributes and children. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/** `1234567` as `1.2 MB`, in the units of file managers. */
const megabytes = (bytes) => (bytes < 1e6 ? `${Math.round(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);

/** Any error in the form of `makeError` in engine.js, which is fetched later than this file. */
const asError = (error) =>
  error?.what
    ? error
    : { cause: "engine", what: "The ladder could not be created.", todo: "Reload the page to try again.", detail: error ? String(error.message ?? error) : null };

/** Fetches another file of the widget. */
const fetchFile = (name) =>
  import(`./${name}`).catch((error) => {
    if (!(error instanceof TypeError)) throw error;
    const what = `${SCRIPT_FOLDER.host} did not send “${name}”, a file of the widget.`;
    throw { cause: "network", what, todo: "Check the connection and try again.", detail: error.message };
  });

/** What `use` returns for the storage of the page; null if storage is not allowed. */
function withStorage(use) {
  try {
    return use(localStorage);
  } catch {
    return null;
  }
}
const markLoading = (loading) => withStorage((storage) => (loading ? storage.setItem(CRASH_KEY, "cpu") : storage.removeItem(CRASH_KEY)));
let loads = 0;
// Leaving the page during a load is not a crash.
if (onPage) addEventListener("pagehide", () => loads > 0 && markLoading(false));

let warned = false;

class EspalierLadder extends (onPage ? HTMLElement : Object) {
  static observedAttributes = ATTRIBUTES;
  #parts; // the elements of the shadow tree
  #state = "poster"; // poster, loading, shown or failed
  #loading = null; // the promise of the current or last load
  #reader = null; // the engine on this page, or the frame that has one
  #view = null;
  #answer = null; // { id, result, narration } of the shown photo
  #newest = null; // the newest answer for the last photo that was read, shown or not
  #input = null; // a photo from classify() or from the visitor
  #copied = null; // why the photo is a copy of the shown image instead of its file, or null
  #generation = 0; // increases with every photo and every close; results of earlier ones are dropped
  #observer = null;
  #sizeText = "";
  #missing = null; // the address of a photo that the browser could not show

  /** The result of the shown photo, or null: plain JSON, see docs/schema/result.schema.json. */
  get result() {
    return this.#answer?.result ?? null;
  }

  /**
   * The result with everything that `trainer verify` needs to compute it again, or null. A photo
   * whose file could not be fetched has no receipt, because no file has the bytes that were read.
   */
  get receipt() {
    return !this.#copied && this.#answer?.narration.receipt ? JSON.parse(this.#answer.narration.receipt) : null;
  }

  toJSON() {
    return this.result;
  }

  /** Fetches the model, reads the photo of `src` if there is one, and shows the result. */
  async load() {
    return this.#read({ show: true });
  }

  /**
   * Reads a photo (a Blob), shows the result and returns it. `why` says why it is a copy of an image
   * and not its file, if so.
   */
  async classify(blob, why = null) {
    if (!(blob instanceof Blob)) throw new TypeError("classify: expected a Blob or File");
    this.#input = blob;
    this.#copied = why;
    return this.#read({ show: true, again: true });
  }

  /** Marks a node of the taxonomy and returns its place relative to the photo. */
  async select(id) {
    if (!this.#answer) await this.load();
    if (!this.#answer) return null;
    const generation = this.#generation;
    try {
      const place = await this.#reader.place(this.#answer.id, String(id));
      if (generation === this.#generation) {
        this.#view?.select(place);
        this.#announce(place.sentence);
        this.#emit("select", place);
      }
      return place;
    } catch (error) {
      const shown = asError(error);
      if (generation === this.#generation) {
        this.#view?.note(shown.what);
        this.#announce(shown.what);
      }
      this.#emit("error", shown);
      return null;
    }
  }

  connectedCallback() {
    if (!this.#parts) this.#build();
    const unknown = [...this.attributes].filter(({ name }) => !ATTRIBUTES.includes(name) && !GLOBAL_ATTRIBUTES.test(name));
    if (unknown.length && !warned) {
      warned = true;
      console.info(`<espalier-ladder> has no attribute ${unknown.map(({ name }) => `"${name}"`).join(", ")}`);
    }
    this.#draw();
    // Near the viewport, the button shows the size, and the model is fetched if the page requests it.
    const onSeen = (seen) => seen.some((entry) => entry.isIntersecting) && this.#onNear();
    this.#observer = new IntersectionObserver(onSeen, { rootMargin: "200px" });
    this.#observer.observe(this);
    if (this.getAttribute("loading") === "eager") this.#autoLoad();
  }

  disconnectedCallback() {
    this.#observer?.disconnect();
    this.#leave();
    this.#closeReader();
  }

  attributeChangedCallback(name, before, now) {
    if (!this.#parts || before === now) return;
    if (name === "level") this.#view?.setLevel(now);
    if (name === "src") this.#input = this.#copied = null;
    if (name === "model") this.#closeReader();
    const isQuestion = ["src", "taxonomy", "model"].includes(name);
    if (isQuestion && this.#state === "shown") this.#read({ show: true, again: true }).catch(() => {});
    else if (name !== "level" && name !== "model") this.#draw();
    this.#reader?.set?.(this);
  }

  // -- display -------------------------------------------------------------------------------------

  #build() {
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheet];
    const press = () => this.#read({ show: true }).catch(() => {});
    const parts = (this.#parts = {
      photo: make("div", { class: "photo", part: "photo" }),
      words: make("p"),
      progress: make("progress", { max: 1, hidden: true, "aria-label": "Loading the model" }),
      button: make("button", { type: "button", part: "button", click: press }),
      stop: make("button", { type: "button", class: "quiet", hidden: true, click: () => this.#leave() }, "Stop"),
      fileInput: make("input", { type: "file", accept: "image/*", class: "unseen", change: (event) => this.#chosen(event.target.files) }),
      status: make("p", { class: "unseen", role: "status" }),
      credit: make("a", { class: "credit", part: "credit", href: new URL("../", SCRIPT_FOLDER), target: "_blank", rel: "noopener" }, "Espalier"),
    });
    parts.choose = make("label", { class: "button", part: "button" }, parts.fileInput, make("span", {}, "Choose a photo"));
    parts.bar = make("div", { class: "bar", part: "bar" }, parts.button, parts.choose, parts.words, parts.stop, parts.progress);
    parts.box = make("div", { class: "box", part: "box" }, parts.photo, parts.bar, parts.credit, parts.status);
    root.append(parts.box);
    this.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && (this.#state === "loading" || this.#state === "shown")) {
        event.preventDefault();
        this.#leave({ focus: true });
      }
    });
    // Only files: dragging text keeps its usual effect.
    const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
    this.addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
    this.addEventListener("drop", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      this.#chosen(event.dataTransfer.files);
    });
  }

  #chosen(files) {
    if (files?.length) this.classify(files[0]).catch(() => {});
    this.#parts.fileInput.value = "";
  }

  /** Draws the current state, except for the answer. */
  #draw(words = null) {
    const { photo, button, choose, stop, progress, bar, credit } = this.#parts;
    const poster = this.getAttribute("poster") ?? this.getAttribute("src");
    const src = this.#input || this.getAttribute("src");
    const state = this.#state;
    credit.hidden = this.getAttribute("credit") === "off";
    bar.hidden = state === "shown" || (state === "poster" && this.getAttribute("reveal") === "manual");
    // A photo that is not there cannot be read.
    const isReadable = src && (this.#input || this.#missing !== src);
    button.hidden = state === "loading" || !isReadable;
    choose.hidden = state === "loading" || Boolean(isReadable);
    stop.hidden = progress.hidden = state !== "loading";
    button.textContent = state === "failed" ? "Try again" : "Read this photo";
    this.#parts.words.className = state === "failed" ? "fault" : "";
    const onPoster = isReadable || !this.#missing ? this.#sizeText : `The photo “${src.split("/").pop()}” could not be shown. Choose another one.`;
    this.#setText(words ?? (state === "poster" ? onPoster : ""), state === "failed" ? this.#wayOn() : null);
    if (state === "shown" || state === "loading") return;
    this.#view?.remove();
    this.#view = null;
    const shown = photo.querySelector("img");
    if (poster && shown?.getAttribute("src") === poster) shown.alt = this.getAttribute("alt") ?? "";
    else if (poster) {
      photo.className = "photo";
      const error = () => this.#onMissing(poster);
      photo.replaceChildren(make("img", { src: poster, alt: this.getAttribute("alt") ?? "", decoding: "async", error }));
    } else if (!this.#input) {
      photo.className = "photo empty";
      photo.replaceChildren(make("p", {}, "Drop a photo here, or choose one. It is read on this device and never sent."));
    }
  }

  #onMissing(address) {
    if (address !== this.getAttribute("src")) return;
    this.#missing = address;
    if (this.#state === "poster") this.#draw();
  }

  #setText(text, link = null) {
    this.#parts.words.replaceChildren(text, ...(link ? [" ", link] : []));
  }

  /** The first link between the tags, as words: its image is the poster, which is shown already. */
  #wayOn() {
    const link = this.querySelector("a[href]");
    if (!link) return null;
    const words = link.textContent.trim() || link.querySelector("img[alt]")?.alt || link.href;
    return make("a", { href: link.href }, words);
  }

  /** Announces a text to screen readers. */
  #announce(text) {
    this.#parts.status.textContent = text;
  }

  #emit(name, detail) {
    this.dispatchEvent(new CustomEvent(`espalier-${name}`, { bubbles: true, composed: true, detail: structuredClone(detail) }));
  }

  // -- loading and reading -------------------------------------------------------------------------

  get #manifest() {
    const model = new URL(this.getAttribute("model") ?? "../models/default/", this.hasAttribute("model") ? document.baseURI : SCRIPT_FOLDER);
    return model.pathname.endsWith(".json") ? model.href : new URL("manifest.json", model.href.replace(/\/?$/, "/")).href;
  }

  async #onNear() {
    this.#observer.disconnect();
    if (this.getAttribute("loading") === "lazy") return this.#autoLoad();
    if (this.#state !== "poster" || this.getAttribute("reveal") === "manual") return;
    try {
      const { sizes } = await fetchFile("engine.js");
      const { total } = await sizes(this.#manifest);
      this.#sizeText = `Downloads ${megabytes(total)} once. The photo stays on this device.`;
    } catch {
      return; // The error is shown when the visitor requests an answer.
    }
    if (this.#state === "poster") this.#draw();
  }

  /** Loads without a press of the button, unless a load has crashed; `reveal` decides what is shown. */
  #autoLoad() {
    if (withStorage((storage) => storage.getItem(CRASH_KEY)) !== null) return;
    this.#read({ show: !this.hasAttribute("reveal") || this.getAttribute("reveal") === "auto" }).catch(() => {});
  }

  /** Opens the engine: on this page, or in a frame if this page's policy allows no worker. */
  async #open() {
    const engine = await fetchFile("engine.js");
    this.#newest = null; // each engine numbers its photos from one
    try {
      this.#reader = engine.join(this.#manifest, this, (name, detail) => this.#onEngineEvent(name, detail));
      await this.#reader.ready;
    } catch (error) {
      if (!(error instanceof engine.NoWorker)) throw error;
      this.#reader?.leave(this);
      const { Frame } = await fetchFile("frame.js");
      this.#emit("fallback", { from: "element", to: "iframe", reason: error.message });
      this.#reader = new Frame(SCRIPT_FOLDER, (...args) => this.#onEngineEvent(...args));
      await this.#reader.open(this, error.message);
    }
  }

  #onEngineEvent(name, detail, receipt = null) {
    if (name === "progress" && this.#state === "loading") {
      const { words, loaded, total } = detail;
      if (total) this.#parts.progress.value = loaded / total;
      this.#setText(total ? `${words} ${megabytes(loaded)} of ${megabytes(total)}.` : words);
      if (this.#parts.status.textContent !== words) this.#announce(words);
    }
    if (name === "finer") {
      if (detail.id !== this.#newest?.id) return;
      this.#newest = { ...this.#newest, ...detail };
      if (detail.id === this.#answer?.id) this.#show(this.#newest);
      return;
    }
    // From a frame, which has drawn it already.
    if (name === "result") this.#answer = { id: 0, result: detail, narration: { receipt: JSON.stringify(receipt) } };
    this.#emit(name, detail);
  }

  async #read({ show, again = false }) {
    if (this.#state === "shown" && !again) return this.result;
    if (this.#loading && !again) {
      if (show && this.#state === "poster") this.#startLoading();
      const answer = this.#newestOf(await this.#loading);
      if (show && answer) await this.#show(answer);
      return this.#newestOf(answer)?.result ?? null;
    }
    const generation = ++this.#generation;
    if (show && this.#state !== "shown") this.#startLoading();
    loads += 1;
    markLoading(true);
    this.#loading = this.#openAndRead(generation);
    try {
      const answer = await this.#loading;
      if (generation !== this.#generation) return answer?.result ?? null;
      if (show && this.#reader.element) this.#shown();
      else if (show && answer) await this.#show(answer);
      else if (show) {
        // The engine is ready, but there is no photo yet.
        this.#state = "poster";
        this.#draw("Ready. Choose a photo, or drop one here.");
      }
      return this.#newestOf(answer)?.result ?? this.result;
    } catch (error) {
      if (generation !== this.#generation) return null;
      const shown = asError(error);
      this.#loading = null;
      // After a photo error the engine can read the next photo.
      if (shown.cause !== "photo") this.#closeReader();
      const focused = this.shadowRoot.activeElement !== null;
      this.#state = "failed";
      this.#draw(`${shown.what} ${shown.todo}`);
      if (focused && !this.#parts.button.hidden) this.#parts.button.focus();
      this.#announce(`${shown.what} ${shown.todo}`);
      this.#emit("error", shown);
      throw shown;
    } finally {
      if (--loads === 0) markLoading(false);
    }
  }

  /** The newest answer for the same photo: finer captions may have arrived since the first answer. */
  #newestOf(answer) {
    return answer && this.#newest?.id === answer.id ? this.#newest : answer;
  }

  /** Shows the bar. The focus of a button that goes moves to the one that stays. */
  #startLoading() {
    const focused = this.shadowRoot.activeElement;
    this.#state = "loading";
    this.#draw("Loading…");
    if (focused && !this.#parts.stop.hidden) this.#parts.stop.focus();
  }

  /** Opens the engine if necessary, then reads the photo; null if there is none. */
  async #openAndRead(generation) {
    if (!this.#reader) await this.#open();
    if (this.#reader.element) return this.#reader.read(this.#input);
    const { photoOf } = await fetchFile("photo.js");
    let photo = this.#input;
    if (!photo && this.hasAttribute("src")) {
      const file = await photoOf(new URL(this.getAttribute("src"), document.baseURI), SCRIPT_FOLDER);
      if (generation !== this.#generation) return null;
      photo = file.photo;
      this.#copied = file.why;
    }
    if (!photo || generation !== this.#generation) return null;
    const answer = await this.#reader.read(photo, this.getAttribute("taxonomy"));
    answer.photo = photo;
    if (generation === this.#generation) this.#newest = answer;
    return answer;
  }

  async #show(answer) {
    const again = answer.id !== this.#answer?.id || !this.#view;
    const finer = !again && answer.result !== this.#answer.result;
    this.#answer = answer;
    const { draw, style } = await fetchFile("view.js");
    if (answer !== this.#answer) return;
    if (!this.shadowRoot.adoptedStyleSheets.includes(style)) this.shadowRoot.adoptedStyleSheets.push(style);
    const focused = this.shadowRoot.activeElement !== null;
    this.#view?.remove();
    this.#view = draw({
      ...answer,
      make,
      src: this.#input ? null : this.getAttribute("src"),
      why: this.#copied,
      cautions: this.#reader?.info?.cautions ?? [],
      alt: this.#input ? "Your photo" : (this.getAttribute("alt") ?? ""),
      level: this.getAttribute("level"),
      select: (id) => this.select(id),
      setLevel: (level) => this.setAttribute("level", level),
      choose: (files) => this.#chosen(files),
      leave: () => this.#leave({ focus: true }),
    });
    this.#parts.box.insertBefore(this.#view.element, this.#parts.bar);
    this.#shown();
    if (focused) this.#view.focus();
    if (again || finer) {
      this.#announce(this.#view.words);
      this.#emit("result", answer.result);
    }
  }

  #shown() {
    this.#state = "shown";
    this.#draw();
  }

  #closeReader() {
    this.#reader?.leave(this);
    this.#reader = this.#loading = null;
  }

  /** Returns to the poster. A load continues only if other elements need it. */
  #leave({ focus = false } = {}) {
    const was = this.#state;
    if (was === "poster") return;
    this.#generation += 1;
    this.#state = "poster";
    if (was === "loading" || this.#reader?.element) this.#closeReader();
    if (this.#input) this.#input = this.#copied = this.#loading = null;
    this.#draw();
    if (focus) (this.#parts.button.hidden ? this.#parts.fileInput : this.#parts.button).focus();
  }
}

if (onPage && !customElements.get("espalier-ladder")) customElements.define("espalier-ladder", EspalierLadder);

// <espalier-ladder>: a photo's ladder of captions on any page.
//
// This file is all that a page loads before somebody wants an answer: the element, its poster and
// its button. What reads the photo (engine.js and the wasm in its worker), what draws the answer
// (view.js) and the form for pages whose policy allows no worker (frame.js) lie beside it and are
// fetched when they are needed. docs/embedding.md has the attributes, events and style hooks.

const HERE = new URL(".", import.meta.url);
const OWN = ["src", "model", "taxonomy", "level", "poster", "loading", "reveal", "theme", "alt", "credit"];
const GLOBAL = /^(class|id|slot|title|lang|dir|hidden|style|role|tabindex|part|width|height)$|^(data-|aria-)/;
// Noted before a load and taken away after it; a page that finds it was ended in between.
const CRASH = "espalier-loading";

const sheet = new CSSStyleSheet();
sheet.replaceSync(`
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
@media (prefers-color-scheme: dark) { :host(:not([theme="light"])) { color-scheme: dark;
  --_bg: var(--espalier-bg, #211c18); --_fg: var(--espalier-fg, #f0e9de); --_soft: var(--espalier-soft, #b9ad9d);
  --_line: var(--espalier-line, #3d352c); --_accent: var(--espalier-accent, #93c898);
  --_on: var(--espalier-on-accent, #13200f); --_wash: var(--espalier-wash, #24362a); --_fault: var(--espalier-fault, #eb9c80); } }
:host([theme="dark"]) { color-scheme: dark;
  --_bg: var(--espalier-bg, #211c18); --_fg: var(--espalier-fg, #f0e9de); --_soft: var(--espalier-soft, #b9ad9d);
  --_line: var(--espalier-line, #3d352c); --_accent: var(--espalier-accent, #93c898);
  --_on: var(--espalier-on-accent, #13200f); --_wash: var(--espalier-wash, #24362a); --_fault: var(--espalier-fault, #eb9c80); }
*, *::before, *::after { box-sizing: border-box; }
.box { position: absolute; inset: 0; overflow: hidden; background: var(--_bg);
  border: 1px solid var(--_line); border-radius: var(--espalier-radius, .75rem); }
.photo { position: absolute; inset: 0; }
.photo img, .photo canvas, ::slotted(img), .frame { display: block; width: 100%; height: 100%; border: 0; object-fit: cover; }
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
.over .box { outline: 3px dashed var(--_accent); outline-offset: -6px; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
[hidden] { display: none !important; }
`);

/** `make("p", { class: "note" }, "words")`: an element with attributes and children. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** `1234567` as `1.2 MB`, in the units of file managers. */
export const megabytes = (bytes) =>
  bytes < 1e6 ? `${Math.round(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;

/** An error in the form that every event and message has: what happened, what to do. */
export const fault = (cause, what, todo, detail) => ({ cause, what, todo, detail: detail ? String(detail.message ?? detail) : null });
const asFault = (error) =>
  error?.what ? error : fault("engine", "The ladder could not be made.", "Reload the page to try again.", error);

/** Writes the note, or takes it away. Without storage there is none, and nothing else is lost. */
function note(loading) {
  try {
    if (loading) localStorage.setItem(CRASH, "cpu");
    else localStorage.removeItem(CRASH);
  } catch {
    // Storage is forbidden here.
  }
}
let loads = 0;
// Leaving in the middle of a load is no crash.
addEventListener("pagehide", () => loads > 0 && note(false));

let noted = false;

class EspalierLadder extends HTMLElement {
  static observedAttributes = OWN;
  #parts; // the elements of the shadow tree
  #state = "poster"; // poster, loading, shown or failed
  #loading = null; // the promise of the load under way or done
  #reader = null; // the engine on this page, or the frame that has one
  #view = null;
  #answer = null; // { id, result, told } of the photo on show
  #given = null; // a photo given by classify() or by the visitor
  #round = 0; // counts photos and departures: what belongs to an earlier one is dropped
  #watch = null;

  /** The result of the photo on show, or null. Plain JSON, as docs/schema/result.schema.json has it. */
  get result() {
    return this.#answer?.result ?? null;
  }

  /** The same with all that `trainer verify` needs to compute it again, or null. */
  get receipt() {
    return this.#answer?.told.receipt ? JSON.parse(this.#answer.told.receipt) : null;
  }

  toJSON() {
    return this.result;
  }

  /** Fetches the model, reads the photo of `src` if there is one, and shows what comes of it. */
  async load() {
    return this.#read({ show: true });
  }

  /** Reads a photo (a Blob) and shows what comes of it; gives the result. */
  async classify(blob) {
    if (!(blob instanceof Blob)) throw new TypeError("classify: expected a Blob or File");
    this.#given = blob;
    return this.#read({ show: true, anew: true });
  }

  /** Marks a node of the taxonomy, on the path or beside it; says where it lies from the photo. */
  async select(id) {
    if (!this.#answer) await this.load();
    if (!this.#answer) return null;
    const round = this.#round;
    try {
      const place = await this.#reader.place(this.#answer.id, String(id));
      if (round === this.#round) {
        this.#view?.select(place);
        this.#tell(place.sentence);
        this.#say("select", place);
      }
      return place;
    } catch (error) {
      this.#say("error", asFault(error));
      return null;
    }
  }

  connectedCallback() {
    if (!this.#parts) this.#build();
    const strange = [...this.attributes].filter(({ name }) => !OWN.includes(name) && !GLOBAL.test(name));
    if (strange.length && !noted) {
      noted = true;
      console.info(`<espalier-ladder> knows no attribute ${strange.map(({ name }) => `"${name}"`).join(", ")}`);
    }
    this.#draw();
    // Near the screen: the size is told, and the model fetched where the page asks for it.
    this.#watch = new IntersectionObserver(
      (seen) => {
        if (seen.some((entry) => entry.isIntersecting)) this.#near();
      },
      { rootMargin: "200px" },
    );
    this.#watch.observe(this);
    if (this.getAttribute("loading") === "eager") this.#unasked();
  }

  disconnectedCallback() {
    this.#watch?.disconnect();
    this.#leave();
    this.#reader?.leave(this);
    this.#reader = this.#loading = null;
  }

  attributeChangedCallback(name, before, now) {
    if (!this.#parts || before === now) return;
    if (name === "level") this.#view?.cut(now);
    else if (name === "src") {
      this.#given = null;
      if (this.#state === "shown") this.#read({ show: true, anew: true }).catch(() => {});
      else this.#draw();
    } else if (name === "taxonomy" && this.#state === "shown") this.#read({ show: true, anew: true }).catch(() => {});
    else if (name === "model") {
      this.#reader?.leave(this);
      this.#reader = this.#loading = null;
      if (this.#state === "shown") this.#read({ show: true, anew: true }).catch(() => {});
    } else this.#draw();
    this.#reader?.set?.(this);
  }

  // -- what the visitor sees ----------------------------------------------------------------------

  #build() {
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheet];
    const press = () => this.#read({ show: true }).catch(() => {});
    const parts = (this.#parts = {
      photo: make("div", { class: "photo", part: "photo" }),
      words: make("p"),
      link: make("slot"),
      progress: make("progress", { max: 1, hidden: true, "aria-label": "Loading the model" }),
      button: make("button", { type: "button", part: "button", click: press }),
      stop: make("button", { type: "button", class: "quiet", hidden: true, click: () => this.#leave() }, "Stop"),
      own: make("input", { type: "file", accept: "image/*", class: "unseen", change: (event) => this.#chosen(event.target.files) }),
      status: make("p", { class: "unseen", role: "status" }),
      credit: make("a", { class: "credit", part: "credit", href: new URL("../", HERE), target: "_blank", rel: "noopener" }, "Espalier"),
    });
    parts.choose = make("label", { class: "button", part: "button" }, parts.own, make("span", {}, "Choose a photo"));
    parts.bar = make("div", { class: "bar", part: "bar" }, parts.button, parts.choose, parts.words, parts.stop, parts.progress);
    parts.box = make("div", { class: "box", part: "box" }, parts.photo, parts.bar, parts.credit, parts.status);
    parts.words.append(parts.link);
    root.append(parts.box);
    this.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && (this.#state === "loading" || this.#state === "shown")) {
        event.preventDefault();
        this.#leave({ focus: true });
      }
    });
    // Only files: text that is dragged across, and scrolling, stay what they were.
    const carries = (event) => event.dataTransfer?.types.includes("Files");
    this.addEventListener("dragover", (event) => carries(event) && event.preventDefault());
    this.addEventListener("drop", (event) => {
      if (!carries(event)) return;
      event.preventDefault();
      this.#chosen(event.dataTransfer.files);
    });
  }

  #chosen(files) {
    if (files?.length) this.classify(files[0]).catch(() => {});
    this.#parts.own.value = "";
  }

  /** Draws everything that does not belong to an answer from the state at hand. */
  #draw(words = null) {
    const { photo, button, choose, stop, progress, bar, credit, link } = this.#parts;
    const poster = this.getAttribute("poster") ?? this.getAttribute("src");
    const src = this.#given || this.getAttribute("src");
    const state = this.#state;
    credit.hidden = this.getAttribute("credit") === "off";
    bar.hidden = state === "shown" || (state === "poster" && this.getAttribute("reveal") === "manual");
    button.hidden = state === "loading" || !src;
    choose.hidden = state === "loading" || Boolean(src);
    stop.hidden = progress.hidden = state !== "loading";
    button.textContent = state === "failed" ? "Try again" : "Read this photo";
    // What the author has put between the tags: shown where there is no element, or it has failed.
    link.hidden = state !== "failed";
    this.#parts.words.className = state === "failed" ? "fault" : "";
    this.#words(words ?? (state === "poster" ? this.#priceWords : ""));
    if (state === "shown" || state === "loading") return;
    if (this.#view) {
      this.#view.remove();
      this.#view = null;
    }
    const shown = photo.querySelector("img");
    if (poster && shown?.getAttribute("src") === poster) shown.alt = this.getAttribute("alt") ?? "";
    else if (poster) {
      photo.className = "photo";
      photo.replaceChildren(make("img", { src: poster, alt: this.getAttribute("alt") ?? "", decoding: "async" }));
    } else if (!this.#given) {
      photo.className = "photo empty";
      photo.replaceChildren(make("p", {}, "Drop a photo here, or choose one. It is read on this device and never sent."));
    }
  }

  #priceWords = "";

  #words(text) {
    const { words, link } = this.#parts;
    words.replaceChildren(text ? `${text} ` : "", link);
  }

  /** Says it to those who listen. */
  #tell(text) {
    this.#parts.status.textContent = text;
  }

  #say(name, detail) {
    this.dispatchEvent(new CustomEvent(`espalier-${name}`, { bubbles: true, composed: true, detail: structuredClone(detail) }));
  }

  // -- what happens -------------------------------------------------------------------------------

  get #manifest() {
    const model = new URL(this.getAttribute("model") ?? "../models/default/", this.hasAttribute("model") ? document.baseURI : HERE);
    return model.pathname.endsWith(".json") ? model.href : new URL("manifest.json", model.href.replace(/\/?$/, "/")).href;
  }

  async #near() {
    this.#watch.disconnect();
    if (this.getAttribute("loading") === "lazy") return this.#unasked();
    if (this.#state !== "poster" || this.getAttribute("reveal") === "manual") return;
    try {
      const { sizes } = await import("./engine.js");
      const { total } = await sizes(this.#manifest);
      this.#priceWords = `Fetches ${megabytes(total)} once. The photo stays on this device.`;
    } catch {
      return; // Told when somebody asks for an answer.
    }
    if (this.#state === "poster") this.#draw();
  }

  /** A load that nobody has pressed for: not after a crash, and shown as `reveal` says. */
  #unasked() {
    let crashed = false;
    try {
      crashed = localStorage.getItem(CRASH) !== null;
    } catch {
      // Storage is forbidden here: no note was ever written.
    }
    if (!crashed) this.#read({ show: !this.hasAttribute("reveal") || this.getAttribute("reveal") === "auto" }).catch(() => {});
  }

  /** The engine: on this page, or in a frame where this page's policy has no room for it. */
  async #open() {
    const engine = await import("./engine.js");
    try {
      this.#reader = engine.join(this.#manifest, this, (name, detail) => this.#heard(name, detail));
      await this.#reader.ready;
    } catch (error) {
      if (!(error instanceof engine.NoWorker)) throw error;
      this.#reader?.leave(this);
      const { Frame } = await import("./frame.js");
      this.#say("fallback", { from: "element", to: "iframe", reason: error.message });
      this.#reader = new Frame(HERE, (...said) => this.#heard(...said));
      this.#parts.photo.append(this.#reader.element);
      await this.#reader.open(this);
    }
  }

  #heard(name, detail, receipt = null) {
    if (name === "progress") {
      const { words, progress } = this.#parts;
      if (this.#state === "loading" && !words.hidden) {
        if (detail.total) progress.value = detail.loaded / detail.total;
        this.#words(detail.total ? `${detail.words} ${megabytes(detail.loaded)} of ${megabytes(detail.total)}.` : detail.words);
        if (this.#parts.status.textContent !== detail.words) this.#tell(detail.words);
      }
    }
    if (name === "finer") {
      if (detail.id === this.#answer?.id) this.#show({ ...this.#answer, ...detail });
      return;
    }
    // Of a frame, which has drawn it already.
    if (name === "result") this.#answer = { id: 0, result: detail, told: { receipt: JSON.stringify(receipt) } };
    this.#say(name, detail);
  }

  async #read({ show, anew = false }) {
    if (this.#state === "shown" && !anew) return this.result;
    if (this.#loading && !anew) {
      if (show && this.#state === "poster") {
        this.#state = "loading";
        this.#draw("Loading…");
      }
      const answer = await this.#loading;
      if (show && answer) this.#show(answer);
      return answer?.result ?? null;
    }
    const round = ++this.#round;
    const begun = this.#state;
    if (show && begun !== "shown") {
      this.#state = "loading";
      this.#draw("Loading…");
    }
    loads += 1;
    note(true);
    this.#loading = this.#once(round);
    try {
      const answer = await this.#loading;
      if (round !== this.#round) return answer?.result ?? null;
      if (show && this.#reader.element) this.#shown();
      else if (show && answer) await this.#show(answer);
      else if (show) {
        // Ready, and no photo to read yet.
        this.#state = "poster";
        this.#draw("Ready: choose a photo, or drop one here.");
      }
      return answer?.result ?? this.result;
    } catch (error) {
      if (round !== this.#round) return null;
      const told = asFault(error);
      this.#loading = null;
      // A photo at fault leaves the engine fit for the next one.
      if (told.cause !== "photo") {
        this.#reader?.leave(this);
        this.#reader = null;
      }
      this.#state = "failed";
      this.#draw(`${told.what} ${told.todo}`);
      this.#tell(`${told.what} ${told.todo}`);
      this.#say("error", told);
      throw told;
    } finally {
      loads -= 1;
      if (loads === 0) note(false);
    }
  }

  /** Opens the engine where that is still to do, then reads; null where there is nothing to read. */
  async #once(round) {
    if (!this.#reader) await this.#open();
    if (this.#reader.element) return this.#reader.read(this.#given);
    const { photoOf } = await import("./photo.js");
    const photo = this.#given ?? (this.hasAttribute("src") ? await photoOf(new URL(this.getAttribute("src"), document.baseURI), HERE) : null);
    if (!photo || round !== this.#round) return null;
    const answer = await this.#reader.read(photo, this.getAttribute("taxonomy"));
    answer.photo = photo;
    return answer;
  }

  async #show(answer) {
    const anew = answer.id !== this.#answer?.id || !this.#view;
    const finer = !anew && answer.result !== this.#answer.result;
    this.#answer = answer;
    const { draw, style } = await import("./view.js");
    if (answer !== this.#answer) return;
    if (!this.shadowRoot.adoptedStyleSheets.includes(style)) this.shadowRoot.adoptedStyleSheets.push(style);
    const focused = this.shadowRoot.activeElement !== null;
    this.#view?.remove();
    this.#view = draw({
      ...answer,
      src: this.#given ? null : this.getAttribute("src"),
      alt: this.#given ? "Your photo" : (this.getAttribute("alt") ?? ""),
      level: this.getAttribute("level"),
      select: (id) => this.select(id),
      cut: (level) => this.setAttribute("level", level),
      choose: (files) => this.#chosen(files),
      leave: () => this.#leave({ focus: true }),
    });
    this.#parts.box.insertBefore(this.#view.element, this.#parts.bar);
    this.#shown();
    if (focused) this.#view.focus();
    if (anew || finer) {
      this.#tell(this.#view.words);
      this.#say("result", answer.result);
    }
  }

  #shown() {
    this.#state = "shown";
    this.#draw();
  }

  /** Back to the poster. What is being loaded goes on for other elements, or ends if there are none. */
  #leave({ focus = false } = {}) {
    const was = this.#state;
    if (was === "poster") return;
    this.#round += 1;
    this.#state = "poster";
    if (was === "loading" || this.#reader?.element) {
      this.#reader?.leave(this);
      this.#reader = this.#loading = null;
    }
    if (this.#given) this.#given = this.#loading = null;
    this.#draw();
    if (focus) (this.#parts.button.hidden ? this.#parts.own : this.#parts.button).focus();
  }
}

if (!customElements.get("espalier-ladder")) customElements.define("espalier-ladder", EspalierLadder);

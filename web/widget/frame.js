// The element in a frame, for pages whose policy has no room for our worker: frame.html lies at our
// own origin and under our own policy, holds the same element, and talks to this one.

import { fault } from "./espalier-ladder.js";

// Of the element; what is loaded and shown when is decided out here.
const PASSED = ["model", "taxonomy", "level", "theme", "alt"];
const STYLES = ["accent", "bg", "fg", "soft", "line", "on-accent", "wash", "fault", "radius", "serif", "font"];
const PATIENCE_MS = 8000;

export class Frame {
  #port = null;
  #asked = new Map();
  #last = 0;
  #here;
  #heard;

  constructor(here, heard) {
    this.#here = here;
    this.#heard = heard;
    this.element = document.createElement("iframe");
    this.element.className = "frame";
    this.element.setAttribute("part", "frame");
    this.element.hidden = true;
    this.element.title = "Espalier: what the photo shows";
    this.element.allow = "camera";
    this.element.src = new URL("frame.html", here);
  }

  /** Waits until the frame's own element is there. */
  async open(host) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    const told = new Promise((resolve, reject) => {
      const late = () =>
        reject(fault("network", "Espalier could not be reached.", "Check the connection and try again."));
      const patience = setTimeout(late, PATIENCE_MS);
      port1.onmessage = ({ data }) => {
        if (data.type === "here") {
          clearTimeout(patience);
          resolve();
        } else this.#hear(data);
      };
    });
    // A frame that the page's policy refuses shows the browser's own page, which never answers.
    this.element.addEventListener("load", () => this.element.contentWindow.postMessage({ espalier: 1 }, this.#here.origin, [port2]), { once: true });
    await told;
    this.set(host);
    this.element.hidden = false;
  }

  /** Passes attributes and style properties of the outer element on. */
  set(host) {
    if (!this.#port) return;
    const style = getComputedStyle(host);
    const attributes = Object.fromEntries(PASSED.map((name) => [name, host.getAttribute(name)]));
    if (attributes.model) attributes.model = new URL(attributes.model, document.baseURI).href;
    const styles = Object.fromEntries(STYLES.map((name) => [`--espalier-${name}`, style.getPropertyValue(`--espalier-${name}`).trim()]));
    this.#port.postMessage({ type: "set", attributes, styles });
  }

  /** Reads a photo, or waits for the visitor to give one. */
  async read(photo) {
    const host = this.element.getRootNode().host;
    const { photoOf } = await import("./photo.js");
    const src = host.getAttribute("src");
    const given = photo ?? (src ? await photoOf(new URL(src, document.baseURI), this.#here) : null);
    const result = given ? await this.#ask("classify", given) : null;
    return result ? { id: 0, result, told: {} } : null;
  }

  place(_, node) {
    return this.#ask("select", node);
  }

  leave() {
    this.#port?.close();
    this.element.remove();
  }

  #ask(method, ...values) {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#asked.set(id, { resolve, reject });
      this.#port.postMessage({ type: "call", id, method, values });
    });
  }

  #hear({ type, id, value, error, name, detail, receipt }) {
    if (type === "answer") {
      const asked = this.#asked.get(id);
      this.#asked.delete(id);
      if (error) asked?.reject(error);
      else asked?.resolve(value);
    } else if (type === "event") this.#heard(name, detail, receipt);
  }
}

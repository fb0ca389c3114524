// Shows the element in a frame, for pages whose policy allows no worker of Espalier. frame.html has
// Espalier's origin and policy, contains the same element and exchanges messages with this one.

import { makeError } from "./engine.js";

// Attributes that are passed on. The outer element decides what is loaded and shown, and when.
const PASSED_ON = ["model", "taxonomy", "level", "theme", "alt"];
const STYLES = ["accent", "bg", "fg", "soft", "line", "on-accent", "wash", "fault", "radius", "serif", "font"];
const TIMEOUT_MS = 8000;

export class Frame {
  #port = null;
  #pending = new Map();
  #lastId = 0;
  #here;
  #listener;

  constructor(here, listener) {
    this.#here = here;
    this.#listener = listener;
    this.element = document.createElement("iframe");
    this.element.className = "frame";
    this.element.setAttribute("part", "frame");
    this.element.hidden = true;
    this.element.title = "Espalier: what the photo shows";
    this.element.allow = "camera";
    this.element.src = new URL("frame.html", here);
  }

  /** Waits until the element in the frame is ready. `reason` says why a frame is needed. */
  async open(host, reason) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    const ready = new Promise((resolve, reject) => {
      const onTimeout = () =>
        reject(makeError("network", `${this.#here.host} did not answer.`, "Check the connection and try again."));
      const timeout = setTimeout(onTimeout, TIMEOUT_MS);
      // A blocked frame shows an error page of the browser, which never answers.
      const onBlocked = ({ blockedURI, effectiveDirective }) => {
        if (!blockedURI || !this.element.src.startsWith(blockedURI)) return;
        settle();
        const todo = `Whoever runs this page has to allow ${this.#here.origin} in its frame-src.`;
        reject(makeError("policy", `The policy of this page forbids a frame (${effectiveDirective}), and ${reason}.`, todo));
      };
      const settle = () => {
        clearTimeout(timeout);
        document.removeEventListener("securitypolicyviolation", onBlocked);
      };
      document.addEventListener("securitypolicyviolation", onBlocked);
      port1.onmessage = ({ data }) => {
        if (data.type === "here") {
          settle();
          resolve();
        } else this.#onMessage(data);
      };
    });
    // Only now, so that a policy's violation is heard.
    host.shadowRoot.querySelector("[part=photo]").append(this.element);
    this.element.addEventListener("load", () => this.element.contentWindow.postMessage({ espalier: 1 }, this.#here.origin, [port2]), { once: true });
    await ready;
    this.set(host);
    this.element.hidden = false;
  }

  /** Passes on attributes and style properties of the outer element. */
  set(host) {
    if (!this.#port) return;
    const style = getComputedStyle(host);
    const attributes = Object.fromEntries(PASSED_ON.map((name) => [name, host.getAttribute(name)]));
    if (attributes.model) attributes.model = new URL(attributes.model, document.baseURI).href;
    const styles = Object.fromEntries(STYLES.map((name) => [`--espalier-${name}`, style.getPropertyValue(`--espalier-${name}`).trim()]));
    this.#port.postMessage({ type: "set", attributes, styles });
  }

  /** Reads a photo; null if there is none yet. */
  async read(photo) {
    const host = this.element.getRootNode().host;
    const { photoOf } = await import("./photo.js");
    const src = host.getAttribute("src");
    const file = photo ? { photo, why: null } : src ? await photoOf(new URL(src, document.baseURI), this.#here, { framed: true }) : null;
    const result = file ? await this.#call("classify", file.photo, file.why) : null;
    return result ? { id: 0, result, narration: {} } : null;
  }

  place(_, node) {
    return this.#call("select", node);
  }

  leave() {
    this.#port?.close();
    this.element.remove();
  }

  #call(method, ...values) {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#port.postMessage({ type: "call", id, method, values });
    });
  }

  #onMessage({ type, id, value, error, name, detail, receipt }) {
    if (type === "answer") {
      const call = this.#pending.get(id);
      this.#pending.delete(id);
      if (error) call?.reject(error);
      else call?.resolve(value);
    } else if (type === "event") this.#listener(name, detail, receipt);
  }
}

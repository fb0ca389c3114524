// Inside frame.html: one element, controlled by the surrounding page or by the address, for example
// frame.html?src=photo.jpg&level=3.

import "./espalier-ladder.js";

const EVENTS = ["progress", "ready", "result", "select", "fallback", "error"];
const METHODS = ["load", "classify", "select"];
const ATTRIBUTES = customElements.get("espalier-ladder").observedAttributes;

const element = document.createElement("espalier-ladder");
for (const [name, value] of new URL(location.href).searchParams) {
  if (ATTRIBUTES.includes(name)) element.setAttribute(name, value);
}
document.body.append(element);

addEventListener("message", ({ data, source, ports: [port] }) => {
  if (source !== parent || data?.espalier !== 1 || !port) return;
  element.dataset.framed = "";
  element.setAttribute("credit", "off");
  for (const name of EVENTS) {
    // Errors and selections are answers to calls; the outer element emits their events.
    element.addEventListener(`espalier-${name}`, ({ detail }) => {
      if (name !== "error" && name !== "select") port.postMessage({ type: "event", name, detail, receipt: element.receipt });
    });
  }
  port.onmessage = async ({ data: message }) => {
    if (message.type === "set") {
      for (const [name, value] of Object.entries(message.attributes)) {
        if (value === null) element.removeAttribute(name);
        else element.setAttribute(name, value);
      }
      for (const [name, value] of Object.entries(message.styles)) element.style.setProperty(name, value);
    }
    if (message.type === "call" && METHODS.includes(message.method)) {
      const answer = { type: "answer", id: message.id };
      try {
        port.postMessage({ ...answer, value: (await element[message.method](...message.values)) ?? null });
      } catch (error) {
        port.postMessage({ ...answer, error: { ...error } });
      }
    }
  };
  port.postMessage({ type: "here" });
});

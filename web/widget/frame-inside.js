// Inside frame.html: one element, told what to do by the page around it, or by the address:
// frame.html?src=photo.jpg&level=3 is the element in the form of a frame.

import "./espalier-ladder.js";

const EVENTS = ["progress", "ready", "result", "select", "fallback", "error"];
const notation = ["load", "classify", "select"];
const NAMES = ["src", "model", "taxonomy", "level", "poster", "loading", "reveal", "theme", "alt", "credit"];

const element = document.createElement("espalier-ladder");
for (const [name, value] of new URL(location.href).searchParams) {
  if (NAMES.includes(name)) element.setAttribute(name, value);
}
document.body.append(element);

addEventListener("message", ({ data, source, ports: [port] }) => {
  if (source !== parent || data?.espalier !== 1 || !port) return;
  element.dataset.framed = "";
  element.setAttribute("credit", "off");
  for (const name of EVENTS) {
    // An error of a call is its answer; the element outside says it.
    element.addEventListener(`espalier-${name}`, ({ detail }) => {
      if (name !== "error" && name !== "select") port.postMessage({ type: "event", name, detail, receipt: element.receipt });
    });
  }
  port.onmessage = async ({ data: told }) => {
    if (told.type === "set") {
      for (const [name, value] of Object.entries(told.attributes)) {
        if (value === null) element.removeAttribute(name);
        else element.setAttribute(name, value);
      }
      for (const [name, value] of Object.entries(told.styles)) element.style.setProperty(name, value);
    }
    if (told.type === "call" && notation.includes(told.method)) {
      const answer = { type: "answer", id: told.id };
      try {
        port.postMessage({ ...answer, value: (await element[told.method](...told.values)) ?? null });
      } catch (error) {
        port.postMessage({ ...answer, error: { ...error } });
      }
    }
  };
  port.postMessage({ type: "here" });
});

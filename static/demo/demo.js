// What a page's own script does with the elements: selects nodes, and hears what they say.

for (const button of document.querySelectorAll("button[data-for]")) {
  button.addEventListener("click", () => document.getElementById(button.dataset.for).select(button.dataset.node));
}

const log = document.getElementById("events");
for (const name of ["progress", "ready", "result", "select", "fallback", "error"]) {
  document.addEventListener(`espalier-${name}`, ({ type, detail }) => {
    const last = log.lastElementChild;
    // One line for a whole download.
    const line = name === "progress" && last?.dataset.name === "progress" ? last : document.createElement("li");
    line.dataset.name = name;
    line.textContent = `${type} ${JSON.stringify(detail).slice(0, 160)}`;
    log.append(line);
    log.scrollTop = log.scrollHeight;
  });
}

// Draws an answer: the photo, one sentence, the ladder and the path in the taxonomy. The texts come
// from the engine; this file only arranges them.

export const style = new CSSStyleSheet();
style.replaceSync(`
.answer { position: absolute; inset: 0; display: grid; background: var(--_bg); grid-template: minmax(7rem, 34%) minmax(0, 1fr) / minmax(0, 1fr); }
.answer > .photo { position: relative; inset: auto; background: color-mix(in srgb, var(--_fg) 8%, var(--_bg)); min-height: 0; }
.answer > .photo img, .answer > .photo canvas { position: absolute; inset: 0; }
/* A shadow at an edge says that the words go on there; it moves away with the end of the words. */
.words { min-height: 0; overflow: auto; padding: 1rem 1.25rem 1.25rem; overscroll-behavior: auto; scrollbar-color: var(--_soft) transparent;
  --_shade: color-mix(in srgb, var(--_fg) 22%, transparent);
  background: linear-gradient(var(--_bg) 40%, transparent) top / 100% 2rem local, linear-gradient(transparent, var(--_bg) 60%) bottom / 100% 2rem local,
    linear-gradient(var(--_shade), transparent) top / 100% .625rem scroll, linear-gradient(transparent, var(--_shade)) bottom / 100% .625rem scroll;
  background-repeat: no-repeat; }
@container (min-width: 38rem) {
  .answer { grid-template: minmax(0, 1fr) / minmax(0, 2fr) minmax(0, 3fr); }
  .words { padding: 1.25rem 1.75rem; }
}
h2, p, ol { margin: 0; padding: 0; }
/* The sentence takes the focus so that it is read out; a ring round it would look like an error. */
h2:focus { outline: none; }
h2 { font: 500 1.375rem/1.25 var(--_serif); letter-spacing: -.01em; text-wrap: balance; }
.guess, .placed { margin-top: .375rem; color: var(--_soft); font-size: .9375rem; }
.placed { padding-left: .625rem; border-left: 3px solid var(--_accent); color: var(--_fg); }
.ladder { list-style: none; margin: .5rem 0 0; }
.rung { position: relative; padding: .25rem 0 .25rem calc(1.375rem + var(--step) * .625rem); font: 400 1.125rem/1.4 var(--_serif); overflow-wrap: anywhere; }
.rung::before { content: ""; position: absolute; left: .3125rem; top: 0; bottom: 0; border-left: 2px solid var(--_line); }
.rung:last-child::before { bottom: 50%; }
.rung::after { content: ""; position: absolute; left: calc(.3125rem + var(--step) * .625rem); top: .8em; width: .625rem; height: .625rem;
  border: 2px solid var(--_accent); border-radius: 100% 0 100% 0; background: var(--_accent); transform: translate(-15%, -25%) rotate(45deg); }
.rung i { position: absolute; left: .4375rem; top: 50%; width: calc(var(--step) * .625rem); border-top: 2px solid var(--_line); }
.rung { font-weight: 500; }
.rung.beyond { padding-block: .0625rem; color: var(--_soft); font-size: .9375rem; font-weight: 400; }
.rung.beyond::after { top: .5em; width: .5rem; height: .5rem; border-width: 1.5px; background: var(--_bg); }
.rung small { font: .8125rem/1.4 var(--espalier-font, system-ui, sans-serif); }
.dial { display: flex; align-items: center; gap: .75rem; max-width: 24rem; margin-top: .5rem; color: var(--_soft); font-size: .875rem; }
.dial input { flex: 1; min-width: 0; min-height: 2rem; accent-color: var(--_accent); }
.path { list-style: none; display: flex; flex-wrap: wrap; gap: .25rem; margin: .75rem 0 0; }
.path button { min-height: 2rem; padding: .125rem .625rem; border: 1px solid transparent; background: none; color: inherit; font-size: .875rem; font-weight: 400; }
.path li { display: flex; align-items: center; color: var(--_fg); }
.path li:not([hidden]) ~ li:not(.all)::before { content: "›"; color: var(--_soft); margin-right: .25rem; }
.path .below { color: var(--_soft); }
.path .all button { text-decoration: underline; color: var(--_soft); }
.path .stop button { background: var(--_wash); font-weight: 600; }
.path button[aria-pressed="true"] { border-color: var(--_accent); }
.foot { display: flex; flex-wrap: wrap; gap: .5rem; margin-top: 1rem; }
.foot button, .foot .button { min-height: 2.25rem; padding: .25rem .875rem; font-size: .875rem; }
.foot .note { flex: 1 1 100%; color: var(--_soft); font-size: .8125rem; }
@media (prefers-reduced-motion: no-preference) {
  .rung { animation: espalier-grow .5s cubic-bezier(.2,.7,.2,1) both; animation-delay: calc(var(--step) * 70ms); }
  @keyframes espalier-grow { from { opacity: 0; transform: translateX(-.5rem); } }
}
`);

/** The photo: an image element if it has an address, otherwise a canvas, which every policy allows. */
function photoBox({ make, src, photo, alt }) {
  const frame = make("div", { class: "photo", part: "photo" });
  if (src) {
    frame.append(make("img", { src, alt }));
    return frame;
  }
  const canvas = make("canvas", { role: "img", "aria-label": alt });
  frame.append(canvas);
  createImageBitmap(photo, { resizeWidth: 1024, resizeQuality: "medium" }).then(
    (bitmap) => {
      [canvas.width, canvas.height] = [bitmap.width, bitmap.height];
      canvas.getContext("2d").drawImage(bitmap, 0, 0);
    },
    () => frame.replaceChildren(make("p", { class: "note" }, "Your browser cannot show this file.")),
  );
  return frame;
}

const clamp = (value, max) => Math.min(Math.max(value, 0), max);

/** Draws an answer and returns its view; `answer.make` creates its elements. */
export function draw(answer) {
  const { make, result, narration, select, choose, leave } = answer;
  const { path } = result.taxonomy;
  const sentence = make("h2", { tabindex: -1, part: "sentence" });
  const guess = make("p", { class: "guess" });
  const placed = make("p", { class: "placed", hidden: true });
  const rungs = result.ladder.map((rung, step) => {
    const row = make("li", { class: "rung", part: "rung" }, make("i", { "aria-hidden": "true" }), rung.text);
    if (narration.beyond[step]) {
      row.classList.add("beyond");
      row.append(make("small", {}, " a guess"));
    }
    row.style.setProperty("--step", step);
    return row;
  });
  const steps = path.map((step) => {
    const button = make("button", { type: "button", tabindex: -1, "aria-pressed": "false", click: () => select(step.id) }, step.name);
    return make("li", { "data-id": step.id }, button);
  });
  // Steps that nobody would name, such as "whole", are shown on demand.
  const named = new Set(narration.named);
  steps.forEach((step, i) => (step.hidden = !named.has(i)));
  const showAll = () => {
    steps.forEach((step) => (step.hidden = false));
    all.remove();
    buttons[0].focus();
  };
  const all = make("li", { class: "all" }, make("button", { type: "button", part: "button", "aria-label": "Show every step of the path", click: showAll }, "every step"));
  all.hidden = named.size === steps.length;
  // One Tab stop for the whole path; the arrow keys move along it.
  const buttons = steps.map((step) => step.querySelector("button"));
  const stopAt = (index) => buttons.forEach((button, i) => (button.tabIndex = i === index ? 0 : -1));
  const focusin = ({ target }) => buttons.includes(target) && stopAt(buttons.indexOf(target));
  const alongPath = (event) => {
    const moves = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, Home: -buttons.length, End: buttons.length };
    const move = moves[event.key];
    if (!move || !buttons.includes(event.target)) return;
    event.preventDefault();
    const shown = buttons.filter((_, i) => !steps[i].hidden);
    shown[clamp(shown.indexOf(event.target) + move, shown.length - 1)].focus();
  };
  const dial = make("input", {
    type: "range",
    // One more position, at the left, where the evidence stops above all of them.
    min: narration.evidence === null ? -1 : 0,
    max: Math.max(narration.levels.length - 1, 0),
    step: 1,
    "aria-label": "From general to specific",
    input: () => answer.setLevel(dial.value),
  });
  const fileInput = make("input", { type: "file", accept: "image/*", class: "unseen", change: () => choose(fileInput.files) });
  const cautions = answer.cautions.length ? ` ${answer.cautions.join(" ")}` : "";
  const note = `${answer.why ? `${answer.why} ` : ""}Read in ${Math.round(result.timing_ms.total ?? 0)} ms on the ${result.backend === "webgpu" ? "graphics processor" : "processor"}. The photo was not sent anywhere.${cautions}`;
  const element = make(
    "div",
    { class: "answer", part: "answer" },
    photoBox(answer),
    make(
      "div",
      { class: "words", part: "words", tabindex: 0, role: "group", "aria-label": "What the photo shows" },
      sentence,
      guess,
      placed,
      make("label", { class: "dial", part: "dial" }, make("span", {}, "general"), dial, make("span", {}, "specific")),
      make("ol", { class: "ladder", part: "ladder", "aria-label": "Captions from general to specific" }, ...rungs),
      make("ol", { class: "path", part: "tree", "aria-label": "Path in the taxonomy, from the root", focusin, keydown: alongPath }, ...steps, all),
      make(
        "div",
        { class: "foot" },
        make("label", { class: "button quiet", part: "button" }, fileInput, make("span", {}, "Try your own photo")),
        make("button", { type: "button", class: "quiet", part: "button", click: leave }, "Close"),
        make("p", { class: "note" }, note),
      ),
    ),
  );

  const view = {
    element,
    words: "",
    remove: () => element.remove(),
    focus: () => sentence.focus(),
    /** Sets the dial to a level, counted from the general end; without a number, where the evidence stops. */
    setLevel(level) {
      const last = narration.levels.length - 1;
      const chosen = /^\d+$/.test(level ?? "") && last >= 0 ? clamp(Number(level), last) : null;
      const shown = narration.levels[chosen] ?? narration;
      dial.value = chosen ?? narration.evidence ?? -1;
      dial.setAttribute("aria-valuetext", narration.levels[dial.value]?.position ?? "nothing");
      sentence.textContent = shown.sentence;
      guess.textContent = shown.guess ?? "";
      guess.hidden = !shown.guess;
      rungs.forEach((row, i) => (row.hidden = shown.hidden[i]));
      stopAt(shown.step ?? narration.named[0]);
      steps.forEach((step, i) => {
        const isStop = i === shown.step;
        step.className = isStop ? "stop" : shown.step === null || i > shown.step ? "below" : "";
        if (isStop) step.setAttribute("aria-current", "step");
        else step.removeAttribute("aria-current");
      });
      const captions = result.ladder.filter((_, i) => !shown.hidden[i]).map(({ text }) => text);
      view.words = `${sentence.textContent}${captions.length ? ` From general to specific: ${captions.join("; ")}.` : ""}`;
    },
    /** Marks a node if it is on the path, and shows the sentence about its place. */
    select(place) {
      for (const step of steps) {
        const on = step.dataset.id === place.id;
        if (on) step.hidden = false;
        step.querySelector("button").setAttribute("aria-pressed", on);
      }
      view.note(place.sentence);
    },
    /** Shows a sentence about what was asked. It is near the top; the page itself is not scrolled. */
    note(sentence) {
      placed.textContent = sentence;
      placed.hidden = false;
      placed.parentElement.scrollTop = 0;
    },
  };
  view.setLevel(answer.level);
  return view;
}

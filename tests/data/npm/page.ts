// A page that uses the element from a script. Each line below `@ts-expect-error` must be refused.

import "espalier-ladder";
import type { EspalierReceipt, EspalierResult } from "espalier-ladder";

const ladder = document.querySelector("espalier-ladder");
if (!ladder) throw new Error("expected an element <espalier-ladder>, found none");

ladder.addEventListener("espalier-progress", ({ detail }) => console.log(detail.words, detail.loaded / detail.total));
ladder.addEventListener("espalier-result", function ({ detail }) {
  const stop: string = detail.taxonomy.stop;
  console.log(stop, this.receipt?.format);
});
ladder.addEventListener("espalier-fallback", ({ detail }) => console.log(detail.from, detail.to, detail.reason));
ladder.addEventListener("click", (event) => console.log(event.clientX));
document.addEventListener("espalier-error", ({ detail }) => console.log(detail.what, detail.todo));

const result: EspalierResult | null = await ladder.load();
const receipt: EspalierReceipt | null = ladder.receipt;
const texts: string[] = result?.ladder.map((rung) => rung.text) ?? [];
const other = await ladder.classify(new Blob([]));
const place = await ladder.select("n02121620");
console.log(receipt, texts, other?.image.width, place?.path.at(-1)?.p, place?.sentence);

document.createElement("espalier-ladder").setAttribute("level", "3");

// @ts-expect-error: a photo is a Blob
await ladder.classify("owl.jpg");
// @ts-expect-error: a result is not assigned
ladder.result = null;
// @ts-expect-error: a stop is the id of a node
const wrong: number | undefined = result?.taxonomy.stop;
console.log(wrong);
// @ts-expect-error: places are told by another event
ladder.addEventListener("espalier-select", ({ detail }) => console.log(detail.loaded));

// Types of <espalier-ladder>. What each part does: docs/embedding.md of the repository. The JSON of
// results and receipts is that of docs/schema/.

/** The attributes of the element, as they stand in HTML. */
export interface EspalierLadderAttributes {
  /** The photo. Without it the element asks the visitor for one. */
  src?: string;
  /** A bundle's folder or its `manifest.json`; by default the one beside the widget. */
  model?: string;
  /** Id of a node: the photo is known to show something at or below it. */
  taxonomy?: string;
  /** Where the path is cut, counted from 0 at its general end; `auto` where the evidence stops. */
  level?: string | number;
  /** A smaller image to show before the model is loaded; by default `src`. */
  poster?: string;
  /** When the model is fetched: on a press, near the screen, or at once. */
  loading?: "auto" | "lazy" | "eager";
  /** When an answer replaces the poster: at once, on a press, or only by `load()`. */
  reveal?: "auto" | "interaction" | "manual";
  /** By default that of the reader's system. */
  theme?: "light" | "dark";
  /** What the photo shows, for readers who cannot see it. */
  alt?: string;
  /** `off` removes the link to the site. */
  credit?: "off";
}

/** One caption of a ladder. */
export interface EspalierRung {
  text: string;
  /** Distance of the caption to the root; never decreases along the ladder. */
  radius: number;
  /** Score of photo and caption, larger is closer. */
  similarity: number;
  /** Probability that the caption is true; never grows along the ladder. */
  p?: number;
  /** Node of the taxonomy that the caption speaks of. */
  node?: string;
}

/** One node of a path. */
export interface EspalierStep {
  id: string;
  name: string;
  /** Calibrated probability that the photo shows it; never grows along the path. */
  p: number;
}

/** Something else that a photo shows. */
export interface EspalierShown {
  text: string;
  p: number;
  role: "subject" | "doing" | "thing" | "place";
  /** Node of the taxonomy that means the same. */
  node?: string;
}

/** What Espalier says about a photo. */
export interface EspalierResult {
  model: { name: string; version: string; sha256: string };
  backend: "cpu" | "webgpu" | "flex" | "wgpu" | "cuda";
  image: { width: number; height: number; sha256: string };
  /** From general to specific. */
  ladder: EspalierRung[];
  /** Number of rungs, from the first on, that the evidence carries; the others are guesses. */
  said?: number;
  /** Most certain first; absent if the model has no detectors. */
  shows?: EspalierShown[];
  /** `stop` is the deepest node of the path down to which the evidence carries. */
  taxonomy: { path: EspalierStep[]; stop: string };
  timing_ms: Record<string, number>;
}

/** A result with all that it takes to compute it again: `trainer verify` reads it. */
export interface EspalierReceipt {
  format: "espalier-receipt/1";
  result: EspalierResult;
  preprocessing: { size: number; resize: "centre_crop" | "inner_crop" | "squeeze" | "white_pad" };
  prompts: string | null;
  dtype: string;
  region: [number, number, number, number] | null;
  below: string | null;
}

/** The position of a node of the taxonomy relative to the photo. */
export interface EspalierPlace {
  id: string;
  name: string;
  path: EspalierStep[];
  /** Id of the last node that this path shares with the photo's own path. */
  shared: string;
  sentence: string;
}

/** Bytes of engine and model together. */
export interface EspalierProgress {
  stage: string;
  loaded: number;
  total: number;
  file: string | null;
  words: string;
}

/** An engine that has passed its self-test. */
export interface EspalierReady {
  backend: "cpu" | "webgpu";
  model: string;
  version: string;
  sha256: string;
  self_test: number;
  warm_ms: number;
  /** Reasons to doubt the answers of the model, as sentences. */
  cautions: string[];
}

/** What replaced what, and why. */
export interface EspalierFallback {
  from: "webgpu" | "element";
  to: "cpu" | "iframe";
  reason: string;
}

/** What happened and what to do. `load` and `classify` reject with it. */
export interface EspalierError {
  cause: string;
  what: string;
  todo: string;
  detail: string | null;
}

/** The element's own events. They bubble and cross shadow roots. */
export interface EspalierLadderEventMap {
  "espalier-progress": CustomEvent<EspalierProgress>;
  "espalier-ready": CustomEvent<EspalierReady>;
  "espalier-result": CustomEvent<EspalierResult>;
  "espalier-select": CustomEvent<EspalierPlace>;
  "espalier-fallback": CustomEvent<EspalierFallback>;
  "espalier-error": CustomEvent<EspalierError>;
}

/** The element `<espalier-ladder>`. */
export interface EspalierLadderElement extends HTMLElement {
  /** The result of the photo that is shown, or null. */
  readonly result: EspalierResult | null;
  /** The same with what it takes to compute it again; null for a copy of an image. */
  readonly receipt: EspalierReceipt | null;
  /** The same as `result`. */
  toJSON(): EspalierResult | null;
  /** Fetches the model, reads the photo of `src` if there is one, shows the result and returns it. */
  load(): Promise<EspalierResult | null>;
  /** The same for another photo. */
  classify(photo: Blob): Promise<EspalierResult | null>;
  /** Marks a node and returns its position relative to the photo; null if there is none. */
  select(id: string): Promise<EspalierPlace | null>;

  addEventListener<K extends keyof EspalierLadderEventMap>(
    type: K,
    listener: (this: EspalierLadderElement, event: EspalierLadderEventMap[K]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener<K extends keyof HTMLElementEventMap>(
    type: K,
    listener: (this: HTMLElement, event: HTMLElementEventMap[K]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: boolean | AddEventListenerOptions): void;
  removeEventListener<K extends keyof EspalierLadderEventMap>(
    type: K,
    listener: (this: EspalierLadderElement, event: EspalierLadderEventMap[K]) => unknown,
    options?: boolean | EventListenerOptions,
  ): void;
  removeEventListener<K extends keyof HTMLElementEventMap>(
    type: K,
    listener: (this: HTMLElement, event: HTMLElementEventMap[K]) => unknown,
    options?: boolean | EventListenerOptions,
  ): void;
  removeEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: boolean | EventListenerOptions): void;
}

declare global {
  interface HTMLElementTagNameMap {
    "espalier-ladder": EspalierLadderElement;
  }
  interface DocumentEventMap extends EspalierLadderEventMap {}
}

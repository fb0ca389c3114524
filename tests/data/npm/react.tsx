// The element in React. Each line below `@ts-expect-error` must be refused.

import type {} from "espalier-ladder/react";
import type { EspalierLadderElement } from "espalier-ladder";
import { createRef } from "react";

const ladder = createRef<EspalierLadderElement>();

export const figure = (
  <figure>
    <espalier-ladder ref={ladder} src="owl.jpg" alt="An owl" level={2} loading="lazy" className="wide" />
  </figure>
);

// @ts-expect-error: there is no such time to load
export const wrong = <espalier-ladder loading="sometimes" />;

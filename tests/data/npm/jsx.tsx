// The element in JSX with a global namespace. Each line below `@ts-expect-error` must be refused.

import type {} from "espalier-ladder/jsx";

declare global {
  namespace JSX {
    interface Element {
      readonly node: unknown;
    }
  }
}

export const figure = <espalier-ladder src="owl.jpg" alt="An owl" level={2} theme="dark" />;

// @ts-expect-error: there is no such theme
export const wrong = <espalier-ladder theme="sepia" />;

// Types of <espalier-ladder> in JSX with a global namespace, as older versions of React and other
// libraries have it: `import type {} from "espalier-ladder/jsx";`

import type { EspalierLadderAttributes } from "./index.js";

declare global {
  namespace JSX {
    interface IntrinsicElements {
      "espalier-ladder": EspalierLadderAttributes & { [attribute: string]: unknown };
    }
  }
}

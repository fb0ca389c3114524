// Types of <espalier-ladder> in React: `import type {} from "espalier-ladder/react";`

import type { DetailedHTMLProps, HTMLAttributes } from "react";
import type { EspalierLadderAttributes, EspalierLadderElement } from "./index.js";

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "espalier-ladder": DetailedHTMLProps<HTMLAttributes<EspalierLadderElement>, EspalierLadderElement> & EspalierLadderAttributes;
    }
  }
}

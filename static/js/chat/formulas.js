/**
 * Formulas in TeX as MathML, which browsers draw. Temml is loaded with the first
 * formula.
 */
import DOMPurify from "../../vendor/dompurify-3.4.18.js";
import { element } from "../common/dom.js";

await new Promise((resolve, reject) => {
  const script = element("script", {
    src: new URL("../../vendor/temml-0.13.5.js", import.meta.url).href,
  });
  script.addEventListener("load", resolve);
  script.addEventListener("error", reject);
  document.head.append(script);
});
const { temml } = /** @type {any} */ (globalThis);
/** A formula cannot define macros that grow without end. */
const LIMITS = { maxExpand: 100, maxSize: [20, 20], throwOnError: true };
/** @type {any} */
const SANITIZED = {
  USE_PROFILES: { mathMl: true },
  FORBID_ATTR: ["href", "style"],
  RETURN_DOM_FRAGMENT: true,
};

/**
 * Show the formulas in an answer, <samp> on lines of their own. What is no TeX is shown
 * as it was written.
 */
export function showFormulas(root) {
  for (const node of root.querySelectorAll("samp, var")) {
    try {
      const math = temml.renderToString(node.textContent, {
        ...LIMITS,
        displayMode: node.nodeName === "SAMP",
      });
      // The page's policy would report a style before it is removed.
      node.replaceWith(
        DOMPurify.sanitize(math.replace(/ style="[^"]*"/g, ""), SANITIZED),
      );
    } catch {
      node.replaceWith(element("code", { text: node.textContent }));
    }
  }
}

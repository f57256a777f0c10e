/** Buttons that copy. */
import { announceNow } from "../common/dom.js";
import { t } from "../common/words.js";

const COPIED_MS = 2000;

/**
 * Copy text, also as HTML, and say so on the button. Without a clipboard, as on
 * insecure pages, hide the button.
 */
export function wireCopy(button, textOf, label = button, htmlOf = null) {
  const { clipboard } = navigator;
  button.hidden = !clipboard;
  button.addEventListener("click", async () => {
    const blob = (text, type = "plain") => new Blob([text], { type: `text/${type}` });
    const isCopied = await (
      htmlOf
        ? clipboard.write([
            new ClipboardItem({
              "text/plain": blob(textOf()),
              "text/html": htmlOf().then((html) => blob(html, "html")),
            }),
          ])
        : clipboard.writeText(textOf())
    ).then(
      () => true,
      () => false,
    );
    label.textContent = isCopied ? t("Copied") : t("Could not copy");
    announceNow(label.textContent);
    setTimeout(() => {
      label.textContent = t("Copy");
    }, COPIED_MS);
  });
}

/**
 * Forms that show at each field what is wrong with it, and the icons of their pages.
 */
import { byId, showError, showText } from "./dom.js";
import { comma, t, translated } from "./words.js";

export const icon = (name) =>
  byId("icons").content.querySelector(`[data-icon=${name}] svg`).cloneNode(true);

/**
 * Show an icon; progress comes every second, so it is only drawn again when it changes.
 */
export function showIcon(holder, name) {
  if (holder.dataset.icon === name) return;
  holder.dataset.icon = name;
  holder.replaceChildren(icon(name));
}

export function clearErrors(form, box) {
  for (const line of form.querySelectorAll(".field-error")) showText(line, "");
  for (const control of form.querySelectorAll("[aria-invalid]"))
    control.removeAttribute("aria-invalid");
  showError(box, null);
}

/** What the API says of a country without a report, with the name that was sent. */
const NO_REPORT =
  /^(?:unknown country_name:|there is no report on) ['"](.+)['"]\. Valid: /;

/** Return what is wrong with a field in the words of the page. */
function problemOf({ message, valid_values: values = [] }) {
  const valid = values.slice(0, 10).map(String);
  const possible = t("Possible values: {values}.", { values: valid.join(comma) });
  const name = NO_REPORT.exec(message)?.[1];
  if (name) return `${t("No report is about “{name}”.", { name })} ${possible}`;
  const isListed = !valid.length || valid.some((value) => message.includes(value));
  return isListed ? translated(message) : `${translated(message)} ${possible}`;
}

/**
 * Show each message at its field and focus the first wrong field; other errors are
 * shown in the box.
 */
export function showFormError(form, box, error) {
  const details = Array.isArray(error.details) ? error.details : [];
  let placed = 0;
  for (const detail of details) {
    const field = form.querySelector(
      `[data-field="${CSS.escape(
        String(detail.field ?? "")
          .split(".")
          .pop(),
      )}"]`,
    );
    if (!field) continue;
    placed += 1;
    showText(field.querySelector(".field-error"), problemOf(detail));
    field.querySelector("input, textarea, select").setAttribute("aria-invalid", "true");
  }
  const isComplete = placed > 0 && placed === details.length;
  showError(
    box,
    error,
    isComplete ? t("Nothing saved. Please correct the marked fields.") : error.message,
  );
  if (!placed) return;
  const first = form.querySelector("[aria-invalid]");
  const fold = first.closest("details");
  if (fold) fold.open = true;
  first.focus();
}

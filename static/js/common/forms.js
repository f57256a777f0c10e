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
    const valid = (detail.valid_values ?? []).slice(0, 10).map(String);
    const isListed =
      !valid.length || valid.some((value) => detail.message.includes(value));
    showText(
      field.querySelector(".field-error"),
      isListed
        ? translated(detail.message)
        : `${translated(detail.message)} ${t("Possible values: {values}.", { values: valid.join(comma) })}`,
    );
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

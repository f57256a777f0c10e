/** Forms that say at each field what is wrong with it, and the signs of their pages. */
import { showError, showText } from "./components.js";
import { byId } from "./dom.js";
import { t } from "./words.js";

export const icon = (name) => byId("icons").content.querySelector(`[data-icon=${name}] svg`).cloneNode(true);

/** An icon is drawn again only when it changes: progress comes every second. */
export function showIcon(holder, name) {
  if (holder.dataset.icon === name) return;
  holder.dataset.icon = name;
  holder.replaceChildren(icon(name));
}

export function clearFieldErrors(form) {
  for (const line of form.querySelectorAll(".field-error")) showText(line, "");
  for (const control of form.querySelectorAll("[aria-invalid]")) control.removeAttribute("aria-invalid");
}

const fieldOf = (form, { field }) => form.querySelector(`[data-field="${CSS.escape(String(field ?? "").split(".").pop())}"]`);

function fieldMessage({ message, valid_values: valid = [] }) {
  const few = (valid ?? []).slice(0, 10).map(String);
  if (!few.length || few.some((value) => message.includes(value))) return message;
  return `${message} ${t("Possible: {values}.", { values: few.join(", ") })}`;
}

/** Shows each wrong field's message at the field and goes to the first; the rest is said in the form's error box. */
export function showFormError(form, box, error) {
  const details = Array.isArray(error.details) ? error.details : [];
  const placed = details.filter((detail) => fieldOf(form, detail));
  for (const detail of placed) {
    const field = fieldOf(form, detail);
    showText(field.querySelector(".field-error"), fieldMessage(detail));
    field.querySelector("input, textarea, select").setAttribute("aria-invalid", "true");
  }
  const allPlaced = placed.length > 0 && placed.length === details.length;
  showError(box, error, allPlaced ? t("Nothing was changed: please mend the marked fields.") : error.message);
  if (!placed.length) return;
  const first = form.querySelector("[aria-invalid]");
  const fold = first.closest("details");
  if (fold) fold.open = true;
  first.focus();
}

export const splitLabels = (text) => text.split(",").map((label) => label.trim()).filter(Boolean);

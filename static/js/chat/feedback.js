/** What somebody thinks of an answer: kept at once, a reason may follow. Loaded when a thumb is pressed first. */
import { sendJson } from "../common/api.js";
import { showError } from "../common/components.js";
import { announceNow, element } from "../common/dom.js";
import { REASONS } from "../common/reasons.js";
import { t } from "../common/words.js";

const LONGEST = 2000;

const send = (id, feedback) => sendJson("POST", `/api/messages/${encodeURIComponent(id)}/feedback`, feedback);

function reasonChoice(name, text) {
  return element("label", { className: "reason" },
    element("input", { type: "radio", name: "reason", value: name }), element("span", { text }));
}

function whyForm(reply) {
  /** @type {any} */
  const comment = element("textarea", { rows: "2", maxlength: String(LONGEST) });
  const error = element("div", { className: "form-error", role: "alert", hidden: "" });
  const close = element("button", { type: "button", className: "button quiet", text: t("Close") });
  /** @type {any} */
  const form = element("form", { className: "why" },
    element("fieldset", {}, element("legend", { text: t("What is wrong with it?") }),
      ...Object.entries(REASONS).map(([name, text]) => reasonChoice(name, text))),
    element("label", { className: "field" }, element("span", { text: t("In your words (optional)") }), comment),
    error,
    element("div", { className: "form-actions" },
      element("button", { type: "submit", className: "button", text: t("Send") }), close));
  close.addEventListener("click", () => {
    form.remove();
    reply.querySelector("[data-rating=down]").focus();
  });
  return { form, comment, error };
}

function askWhy(reply, id) {
  const { form, comment, error } = whyForm(reply);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const reason = new FormData(form).get("reason");
    try {
      await send(id, { rating: "down", ...(reason && { reason }), comment: comment.value });
      form.remove();
      announceNow(t("Thank you. It is kept with the question."));
      reply.querySelector("[data-rating=down]").focus();
    } catch (problem) {
      showError(error, problem);
    }
  });
  reply.querySelector(".answer-meta").after(form);
  form.scrollIntoView({ block: "center" });
  form.querySelector("input").focus({ preventScroll: true });
}

/** `show` presses the thumbs of a rating, or none. */
export async function rate(reply, button, id, show) {
  const rating = button.getAttribute("aria-pressed") === "true" ? null : button.dataset.rating;
  reply.querySelector(".why")?.remove();
  try {
    await send(id, { rating });
  } catch (error) {
    return announceNow(error.message);
  }
  show(rating);
  if (rating === "down") askWhy(reply, id);
}

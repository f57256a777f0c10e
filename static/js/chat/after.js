/** What a person can do with an answer: rate it, copy or download it, ask next. */
import { wireCopy } from "./copy.js";
import { at, sendJson } from "../common/api.js";
import { announceNow, element, onSubmit, showError } from "../common/dom.js";
import { isAttachment, sourceName } from "../common/format.js";
import { t } from "../common/words.js";

/** Reasons for a bad rating, by their names in the API. */
export const REASONS = {
  not_true: t("Not what the reports say"),
  wrong_source: t("Wrong passages"),
  incomplete: t("Incomplete"),
  not_asked: t("Not what I asked"),
  other: t("Something else"),
};
/** The reason of whoever tells that a question has no answer. */
export const NO_ANSWER = { no_answer: t("No answer in the reports") };
const MAX_COMMENT_CHARACTERS = "2000";

const send = (id, feedback) =>
  sendJson("POST", `/api/messages/${encodeURIComponent(id)}/feedback`, feedback);

/**
 * Save a rating, or remove it if it was chosen before. `show` marks the thumb of a
 * rating.
 */
export async function rate(reply, button, turn, show) {
  const rating =
    button.getAttribute("aria-pressed") === "true" ? null : button.dataset.rating;
  reply.querySelector(".why, .thanks")?.remove();
  try {
    await send(turn.messageId, { rating });
  } catch (error) {
    return announceNow(error.message);
  }
  show(rating);
  if (rating === "down") askWhy(reply, turn);
}

/** Save that an answer is bad, and why. */
export const rateDown = (id, reason) => send(id, { rating: "down", reason });

function askWhy(reply, turn) {
  /** @type {any} */
  const comment = element("textarea", { rows: "2", maxlength: MAX_COMMENT_CHARACTERS });
  const error = element("div", { className: "form-error", role: "alert", hidden: "" });
  const close = element("button", {
    type: "button",
    className: "button quiet",
    text: t("Close"),
  });
  /** @type {any} */
  const form = element(
    "form",
    { className: "why" },
    element(
      "fieldset",
      {},
      element("legend", { text: t("What is wrong with this answer?") }),
      ...Object.entries(REASONS).map(([name, text]) =>
        element(
          "label",
          { className: "reason" },
          element("input", { type: "radio", name: "reason", value: name }),
          element("span", { text }),
        ),
      ),
    ),
    element(
      "label",
      { className: "field" },
      element("span", { text: t("Comment (optional)") }),
      comment,
    ),
    error,
    element(
      "div",
      { className: "form-actions" },
      element("button", { type: "submit", className: "button", text: t("Send") }),
      close,
    ),
  );
  const remove = () => {
    form.remove();
    reply.querySelector("[data-rating=down]").focus();
  };
  close.addEventListener("click", remove);
  onSubmit(form, async () => {
    const reason = new FormData(form).get("reason");
    try {
      await send(turn.messageId, {
        rating: "down",
        ...(reason && { reason }),
        comment: comment.value,
      });
      turn.thank(form, reason);
    } catch (problem) {
      showError(error, problem);
    }
  });
  reply.querySelector(".answer-meta").after(form);
  form.scrollIntoView({ block: "center" });
  form.querySelector("input").focus({ preventScroll: true });
}

const MAX_NAME_CHARACTERS = 80;
const UNSAFE = /[\p{Cc}\p{Cf}<>:"/\\|?*]+/gu;

/** Return the first heading of a report as a file name that every system accepts. */
function fileName(markdown, question) {
  const heading = /^#{1,6}[ \t]+(\S.*)$/m
    .exec(markdown)?.[1]
    .replace(/\s[\s#]*$/, "")
    .replace(/(?<!\\)[*`]|\[\d[\d, ]*\]/g, "");
  const name = (heading?.replace(/\\(\p{P}|\p{S})/gu, "$1") || question)
    .replace(UNSAFE, " ")
    .replace(/\s+/g, " ")
    .trim();
  return `${
    [...name]
      .slice(0, MAX_NAME_CHARACTERS)
      .join("")
      .replace(/^\.+|[. ]+$/g, "") || t("report")
  }.md`;
}

/** Return the address and the name of a file for a link. */
export const markdownFile = (markdown, question) => ({
  href: `data:text/markdown;charset=utf-8,${encodeURIComponent(markdown)}`,
  download: fileName(markdown, question),
});

/**
 * Return an answer as HTML for mail and word processors: raised numbers, highlighted
 * marks, sources with their links.
 */
export function richText(answer, sources) {
  const copy = answer.querySelector(".answer-body").cloneNode(true);
  for (const node of copy.querySelectorAll(
    ".copy-code, .visually-hidden, .more-citations",
  ))
    node.remove();
  for (const node of copy.querySelectorAll(".citation")) {
    const number = element("sup", { text: `[${node.textContent}]` });
    node.replaceWith(
      node.classList.contains("unsupported") ? element("mark", {}, number) : number,
    );
  }
  for (const node of copy.querySelectorAll(".joined"))
    node.replaceWith(...node.childNodes);
  for (const node of copy.querySelectorAll(".unsupported-text"))
    node.replaceWith(element("mark", {}, ...node.childNodes));
  for (const table of copy.querySelectorAll("table")) table.setAttribute("border", "1");
  const legend = answer.querySelector(".legend-marks").cloneNode(true);
  const list = sources.map((source) =>
    element(
      "p",
      {},
      `[${source.number}] `,
      isAttachment(source)
        ? sourceName(source)
        : element("a", {
            href: new URL(at(`/passages/${source.chunk_id}`), location.href).href,
            text: sourceName(source),
          }),
    ),
  );
  return [copy, ...(legend.childElementCount ? [legend] : []), ...list]
    .map(({ outerHTML }) => outerHTML)
    .join("");
}

/** Give each block of code a button that copies it. */
export function addCopyButtons(body) {
  for (const code of body.querySelectorAll("pre")) {
    const button = element("button", {
      type: "button",
      className: "button quiet copy-code",
      text: t("Copy"),
    });
    wireCopy(button, () => code.textContent);
    code.after(button);
  }
}

/** What has changed since the answers of a conversation: their reports. */
import { store } from "./store.js";
import { element } from "../common/dom.js";
import { outdatedText } from "../common/format.js";
import { comma, t } from "../common/words.js";

const filtersOf = ({ scope, collections }) => ({
  ...scope,
  ...(collections.length && { collections }),
});

/** Ask questions again below the others, one after the other. */
async function askAgain(answers) {
  for (const answer of answers) {
    const isDone = new Promise((/** @type {(value?: unknown) => void} */ resolve) => {
      let isBegun = false;
      store.on("streaming", (streaming) => {
        if (streaming) isBegun = true;
        else if (isBegun) resolve();
      });
    });
    store.emit("ask", { question: answer.question, filters: filtersOf(answer) });
    await isDone;
  }
}

function againButton(answers) {
  const text =
    answers.length > 1
      ? t("Ask all {number} again", { number: answers.length })
      : t("Ask again");
  const button = element("button", { type: "button", className: "button quiet", text });
  button.addEventListener("click", () => {
    button.closest(".outdated").remove();
    askAgain(answers);
  });
  return button;
}

const whyOf = ({ titles }) =>
  titles.length
    ? t("Replaced since: {titles}", { titles: titles.join(comma) })
    : t("The report was removed since.");

/**
 * Say above the newest answer, and at each answer that is shown, whose reports are not
 * those of today.
 * @param {any[]} outdated
 * @param {boolean} isBrief its items are not asked again
 */
export function showOutdated(outdated, isBrief) {
  for (const answer of outdated) {
    const turn = store.turns.find(({ messageId }) => messageId === answer.message_id);
    if (!turn || turn.node.querySelector(".outdated")) continue;
    const note = element("p", { className: "outdated" }, `${whyOf(answer)} `);
    if (!isBrief) note.append(againButton([answer]));
    turn.node.querySelector(".reply").before(note);
  }
  const last = store.turns.at(-1)?.node;
  if (!last || document.querySelector(".outdated-all") || isBrief) return;
  const box = element(
    "p",
    { className: "outdated outdated-all", role: "status" },
    `${outdatedText(outdated.length)} `,
    againButton(outdated),
  );
  last.before(box);
  box.scrollIntoView({ block: "start", behavior: "instant" });
}

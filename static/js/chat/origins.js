/** What an answer took from the question and from earlier, removable with one tap. */
import { element, showText } from "../common/dom.js";
import { pageName, scopeNames } from "../common/format.js";
import { comma, t } from "../common/words.js";

/** Name the scope that a question names. */
const suggestionLabel = ({ filters, page }) =>
  t("Ask again about {names} only", {
    names: [...scopeNames(filters), pageName({ page })].filter(Boolean).join(comma),
  });

/**
 * Offer a scope that the question names and that was not applied, or all reports where
 * the chosen ones say nothing; show what was taken from the question and from earlier.
 * `askBelow` asks the question again, with other options.
 */
export function showScopes(reply, turn, answer, askBelow) {
  const { filters, page, autoScope, withoutEarlier } = turn;
  const { answered, suggested_scope: suggested, scope } = answer;
  const isWidened =
    !suggested && !answered && (Object.keys(filters).length > 0 || page);
  const button = reply.querySelector(".suggestion");
  const label = suggested ? suggestionLabel(suggested) : "";
  showText(button, isWidened ? t("Ask in all reports") : label);
  button.addEventListener("click", () =>
    askBelow({
      filters: { ...suggested?.filters, collections: suggested?.collections },
      page: suggested?.page,
    }),
  );
  if (!scope?.from_question && !scope?.from_earlier) return;
  showOrigins(reply, { scope, withoutEarlier }, (options) =>
    askBelow({ filters, page, autoScope, withoutEarlier, ...options }),
  );
}

/** `askAgain` asks the question of the answer again, with other options. */
function showOrigins(reply, { scope, withoutEarlier }, askAgain) {
  const names = scopeNames(scope.from_question).join(" · ");
  const remove = reply.querySelector(".taken-remove");
  reply.querySelector(".from-words").hidden = !names;
  remove.textContent = names;
  remove.setAttribute(
    "aria-label",
    t("Ask again without the scope from the question: {label}", { label: names }),
  );
  remove.addEventListener("click", () => askAgain({ autoScope: false }));
  const earlier = scope.from_earlier ?? {};
  const fields = Object.keys(earlier);
  const line = reply.querySelector(".earlier");
  line.hidden = !fields.length;
  line.append(
    ...scopeNames(earlier).map((name, index) => {
      const chip = element("button", {
        type: "button",
        className: "chip",
        text: name,
        "aria-label": t("Ask again without {name} from earlier", { name }),
      });
      chip.addEventListener("click", () =>
        askAgain({ withoutEarlier: [...withoutEarlier, fields[index]] }),
      );
      return chip;
    }),
  );
}

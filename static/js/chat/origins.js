/** What an answer took from the question and from earlier, removable with one tap. */
import { element } from "../common/dom.js";
import { scopeNames } from "../common/format.js";
import { t } from "../common/words.js";

/** `askAgain` asks the question of the answer again, with other options. */
export function showOrigins(reply, { scope, withoutEarlier }, askAgain) {
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

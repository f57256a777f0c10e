/** Ways on from a question without an answer, each one tap. */
import { rateDown } from "./after.js";
import { sourceItem } from "./citations.js";
import { store } from "./store.js";
import { announceNow, element } from "../common/dom.js";
import { comma, t } from "../common/words.js";

const MAX_PASSAGES = 3;

/** Offer the nearest year of which the closest passages have figures. */
function nearestYear(question, { trace, figures = [] }) {
  const asked = (trace?.understood?.figure_years ?? [])
    .flat()
    .map(Number)
    .find((year) => question.includes(String(year)));
  if (!asked) return null;
  const texts = (trace?.hits ?? []).slice(0, MAX_PASSAGES).map(({ text }) => text);
  const named = texts.join(" ").match(/\b(?:19|20)\d\d\b/g) ?? [];
  const years = [...figures.map(({ year }) => year), ...named.map(Number)].filter(
    (year) => year && year !== asked,
  );
  const [nearest] = years.toSorted(
    (one, other) => Math.abs(one - asked) - Math.abs(other - asked) || other - one,
  );
  return nearest
    ? {
        text: t("Ask for {year}", { year: nearest }),
        question: question.replace(String(asked), String(nearest)),
      }
    : null;
}

/** Offer the question of a country that has reports, in place of one that has none. */
function otherCountry(question, { trace, citations }) {
  const named = (trace?.understood?.countries ?? []).find((country) =>
    question.includes(country),
  );
  const other = citations.map(({ country_name: country }) => country).find(Boolean);
  if (!named || !other || other === named) return null;
  return {
    text: t("Ask about {country}", { country: other }),
    question: question.replace(named, other),
  };
}

/** Return the same question without what it took from the conversation. */
function withoutEarlier(question, { scope }) {
  const fields = Object.keys(scope?.from_earlier ?? {});
  if (!fields.length) return null;
  const names = Object.values(scope.from_earlier).flat().map(String).join(comma);
  return {
    text: t("Ask without {name} from earlier", { name: names }),
    question,
    withoutEarlier: fields,
  };
}

function tellOwner(messageId) {
  const button = element("button", {
    type: "button",
    className: "further-question way-on",
    text: t("Tell who runs this"),
  });
  button.addEventListener("click", async () => {
    try {
      await rateDown(messageId, "incomplete");
      button.textContent = t("Thank you. Your feedback is saved.");
      button.setAttribute("disabled", "");
      announceNow(button.textContent);
    } catch (error) {
      announceNow(error.message);
    }
  });
  return button;
}

/** Fold out the passages that came nearest and are not cited. */
function nearestPassages({ trace, citations }) {
  const cited = new Set(citations.map(({ chunk_id: id }) => id));
  const hits = (trace?.hits ?? []).filter(({ chunk_id: id }) => !cited.has(id));
  if (!hits.length) return null;
  const items = hits.slice(0, MAX_PASSAGES).map((hit) => {
    const item = sourceItem({ ...hit, number: "" }, "·");
    const button = /** @type {HTMLElement} */ (item.firstElementChild);
    delete button.dataset.citation;
    button.dataset.chunk = hit.chunk_id;
    return item;
  });
  return element(
    "details",
    { className: "nearest" },
    element("summary", { text: t("Nearest passages") }),
    element("ol", { className: "sources", role: "list" }, ...items),
  );
}

/** Show the ways on from an answer that was not found, before another section. */
export function showWaysOn(next, turn, answer) {
  const { filters, page, question, messageId } = turn;
  const questions = [
    nearestYear(question, answer),
    otherCountry(question, answer),
    withoutEarlier(question, answer),
  ].filter(Boolean);
  const buttons = questions.map(({ text, ...asked }) => {
    const button = element("button", {
      type: "button",
      className: "further-question way-on",
      text,
    });
    button.addEventListener("click", () =>
      store.emit("ask", { filters, page, ...asked }),
    );
    return button;
  });
  if (messageId) buttons.push(tellOwner(messageId));
  const passages = nearestPassages(answer);
  if (!buttons.length && !passages) return;
  next.before(
    element(
      "section",
      { className: "further ways-on" },
      element("h3", { className: "eyebrow", text: t("What you can do") }),
      element(
        "ul",
        { className: "further-list", role: "list" },
        ...buttons.map((button) => element("li", {}, button)),
      ),
      ...(passages ? [passages] : []),
    ),
  );
}

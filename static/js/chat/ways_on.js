/** Ways on from a question without an answer, each one tap. */
import { rateDown } from "./after.js";
import { sourceItem } from "./citations.js";
import { store } from "./store.js";
import { at, getJson } from "../common/api.js";
import { announceNow, element } from "../common/dom.js";
import { comma, t } from "../common/words.js";

const MAX_PASSAGES = 3;
const MAX_COUNTRIES = 2;

/** Return a country that the question names and no passage is about. */
function missingCountry(question, { trace, citations }) {
  const hits = [...citations, ...(trace?.hits ?? [])];
  const present = new Set(hits.map(({ country_name: country }) => country));
  return (trace?.understood?.countries ?? []).find(
    (country) => question.includes(country) && !present.has(country),
  );
}

/** Offer the nearest of the years that the refusal says there are figures of. */
function nearestYear(question, answer) {
  if (missingCountry(question, answer)) return null;
  const asked = (answer.trace?.understood?.figure_years ?? [])
    .flat()
    .map(Number)
    .find((year) => question.includes(String(year)));
  const [refusal] = answer.response.split("\n\n");
  const years = (refusal.match(/\b(?:19|20)\d\d\b/g) ?? [])
    .map(Number)
    .filter((year) => year !== asked);
  const [nearest] = years.toSorted(
    (one, other) => Math.abs(one - asked) - Math.abs(other - asked),
  );
  return asked && nearest
    ? {
        text: t("Ask for {year}", { year: nearest }),
        question: question.replace(String(asked), String(nearest)),
      }
    : null;
}

/**
 * Offer the question of countries that have reports, in place of one that has none:
 * those of the nearest passages, else those with most reports.
 */
async function otherCountries(question, answer) {
  const named = missingCountry(question, answer);
  // In place of one of several countries another one makes another question.
  if (!named || answer.trace.understood.countries.length > 1) return [];
  const hits = [...answer.citations, ...(answer.trace?.hits ?? [])];
  const near = hits.map(({ country_name: country }) => country);
  const { country_name: listed = [] } = await getJson("/api/facets").catch(() => ({}));
  const most = listed
    .toSorted((one, other) => other.documents - one.documents)
    .map(({ value }) => value);
  // The question of a country that has reports was refused for something else.
  if (most.includes(named)) return [];
  const others = new Set([...near, ...most].filter(Boolean));
  return [...others].slice(0, MAX_COUNTRIES).map((country) => ({
    text: t("Ask about {country}", { country }),
    question: question.replace(named, country),
  }));
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

const addReport = (country) =>
  element("a", {
    className: "further-question way-on",
    href: at("/documents"),
    text: t("Add a report on {country}", { country }),
  });

function tellOwner(messageId) {
  const button = wayOn(t("Tell who runs this"), async () => {
    try {
      await rateDown(messageId, "no_answer");
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

function wayOn(text, act) {
  const button = element("button", {
    type: "button",
    className: "further-question way-on",
    text,
  });
  button.addEventListener("click", act);
  return button;
}

/** Thank for what is wrong with an answer, in place of its form, and offer ways on. */
export function showThanks(form, turn, reason) {
  const { question, filters, answer } = turn;
  const isScoped = Object.keys({ ...answer?.scope?.filters, ...filters }).length > 0;
  const inAll = () => store.emit("ask", { question, filters: {}, autoScope: false });
  const buttons = [
    wayOn(t("Ask in other words"), () => store.emit("edit", turn)),
    wayOn(t("Answer again"), () => store.emit("askAgain", turn)),
    ...(isScoped ? [wayOn(t("Ask in all reports"), inAll)] : []),
  ];
  const passages = answer && nearestPassages(answer);
  if (passages && reason === "wrong_source") passages.setAttribute("open", "");
  const thanks = t("Thank you. Whoever runs this can read it.");
  form.replaceWith(
    element(
      "section",
      { className: "further ways-on thanks" },
      element("h3", { text: thanks }),
      element(
        "ul",
        { className: "further-list", role: "list" },
        ...buttons.map((button) => element("li", {}, button)),
      ),
      ...(passages ? [passages] : []),
    ),
  );
  buttons[0].focus({ preventScroll: true });
  announceNow(thanks);
}

/** Show the ways on from an answer that was not found, before another section. */
export async function showWaysOn(next, turn, answer) {
  const { filters, page, question, messageId } = turn;
  const questions = [
    nearestYear(question, answer),
    ...(await otherCountries(question, answer)),
    withoutEarlier(question, answer),
  ].filter(Boolean);
  const buttons = questions.map(({ text, ...asked }) =>
    wayOn(text, () => store.emit("ask", { filters, page, ...asked })),
  );
  const country = missingCountry(question, answer);
  if (country && document.body.dataset.may?.split(" ").includes("write"))
    buttons.push(addReport(country));
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

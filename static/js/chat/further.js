/**
 * Questions to go on with: the indicator of the answer for a country near by, a related
 * heading of the same report, and how all countries rank; none that was asked here.
 */
import { localQuestion, questionOf, RANKED, spoken } from "./first.js";
import { store } from "./store.js";
import { getJson } from "../common/api.js";
import { element } from "../common/dom.js";
import { isAttachment } from "../common/format.js";
import { language, t } from "../common/words.js";

const MAX_QUESTIONS = 3;
const MAX_NAMES = "50";
const WITH_ARTICLE =
  /^(?:Bahamas|Comoros|Gambia|Maldives|Netherlands|Philippines|Seychelles)$|\b(?:Republic|Federation|Kingdom|States|Emirates|Islands)\b/;
const withArticle = (country) =>
  language === "en" && WITH_ARTICLE.test(country) ? `the ${country}` : country;

/**
 * Offer what the answer lacks, by the word of the model, else questions that the
 * library answers in the same scope; without an answer, or if the request fails, none.
 */
export async function showFurther(
  section,
  { question, filters },
  { answered, card, citations, missing },
) {
  if (missing?.length) {
    section.querySelector("h3").textContent = t("Search again for");
    return offer(section, missing);
  }
  const cited = citations.find((citation) => !isAttachment(citation));
  if (!answered || !cited) return;
  const values = Object.entries(filters ?? {}).flatMap(([field, chosen]) =>
    [chosen]
      .flat()
      .filter((value) => typeof value !== "object")
      .map((value) => [field, String(value)]),
  );
  const name = card?.indicators[0] ?? "";
  const [{ questions, near }, indicators] = await Promise.all([
    getJson(
      `/api/chunks/${encodeURIComponent(cited.chunk_id)}/further?${new URLSearchParams([
        ["q", question.slice(0, 1000)],
        ["indicator", name.slice(0, 500)],
        ...values,
      ])}`,
    ),
    name ? indicatorsLike(name).catch(() => []) : [],
  ]).catch(() => [{ questions: [], near: [] }, []]);
  const related = questions
    .map((one) => one.question)
    .filter((text) => !store.turns.some((turn) => isAnswered(text, turn)));
  const same = ofFigures(card, near, indicators);
  const chosen = [same.comparison, related[0], same.ranking, ...related.slice(1)];
  const asked = store.turns.map((turn) => plain(turn.question));
  offer(
    section,
    [...new Set(chosen)]
      .filter((text) => text && !asked.includes(plain(text)))
      .slice(0, MAX_QUESTIONS),
  );
}

/** Return the indicators whose names begin like this one's. */
async function indicatorsLike(name) {
  const q = name.replace(/\s*[(:].*$/, "");
  const query = new URLSearchParams({ q, limit: MAX_NAMES });
  const { indicators } = await getJson(`/api/indicators?${query}`);
  return indicators;
}

/**
 * Return the questions that an answer with figures leads to: its first country beside
 * one near by, and the ranking; none where the conversation has their figures.
 */
function ofFigures(card, near, indicators) {
  const name = card?.indicators[0];
  const indicator = indicators.find((one) => one.name === name);
  // The name of a part is no clear question: "Literacy: female".
  if (!near.length || !indicator || name.includes(": ")) return {};
  const names = indicators.map((one) => one.name).filter((one) => !one.includes(": "));
  const known = new Set(
    store.turns
      .flatMap(({ answer }) => answer?.card?.figures ?? [])
      .filter((figure) => figure.indicator === name)
      .map(({ subject }) => subject),
  );
  const { figures } = card;
  const [first] = figures;
  const [other] = near.filter((country) => !known.has(country));
  const asked = (kind, countries) =>
    localQuestion(kind, indicator, countries.map(withArticle), names)[0];
  const comparison = other && asked("comparison", [first.subject, other]);
  if (near.length < RANKED || known.size >= 2 * RANKED) return { comparison };
  const isHighestShown = known.size >= RANKED && first.value >= figures.at(-1).value;
  if (!isHighestShown)
    return { comparison, ranking: asked("ranking", [first.subject]) };
  // Only English is read for the other end.
  if (language !== "en") return { comparison };
  return { comparison, ranking: questionOf("lowest", spoken(name, names), [first]) };
}

/** Return whether an earlier answer's first passage is what a question asks for. */
function isAnswered(text, { answer }) {
  const [cited] = answer?.citations ?? [];
  const heading = plain(cited?.section?.split(" › ").at(-1) ?? "");
  if (!heading || !plain(text).includes(heading)) return false;
  return plain(text).includes(plain(cited.country_name ?? cited.title ?? ""));
}

const plain = (text) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();

function offer(section, questions) {
  section.hidden = questions.length === 0;
  section
    .querySelector(".further-list")
    .replaceChildren(
      ...questions.map((text) =>
        element(
          "li",
          {},
          element("button", { type: "button", className: "further-question", text }),
        ),
      ),
    );
}

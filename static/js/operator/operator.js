/** Usage by day, as plots and a table, and the questions and jobs that failed. */
import { REASONS } from "../chat/after.js";
import { shape } from "../chat/charts.js";
import { getJson } from "../common/api.js";
import { byId, element, showError } from "../common/dom.js";
import { cost, decimal, scopeNames, when } from "../common/format.js";
import { stateText } from "../common/states.js";
import { comma, t } from "../common/words.js";

const DAYS = 30;
const DAY_MS = 86_400_000;
const STEP = 10;
const HEIGHT = 100;

const MEASURES = [
  { name: t("Questions"), of: ({ questions }) => questions, text: decimal },
  { name: t("Tokens"), of: ({ metered_tokens: tokens }) => tokens, text: decimal },
  { name: t("Cost"), of: (day) => day.cost ?? 0, text: cost },
];

/** Return the last days, including those without usage. */
function everyDay(days) {
  const used = new Map(days.map((day) => [day.day, day]));
  const today = Date.parse(new Date().toISOString().slice(0, 10));
  return Array.from({ length: DAYS }, (_, ago) => {
    const day = new Date(today - (DAYS - 1 - ago) * DAY_MS).toISOString().slice(0, 10);
    return used.get(day) ?? { day, questions: 0, metered_tokens: 0, cost: 0 };
  });
}

function plot({ name, of, text }, days) {
  const values = days.map(of);
  const highest = Math.max(...values, 0);
  if (!highest) return [];
  const label = t("{name} per day (peak: {highest})", { name, highest: text(highest) });
  const bars = values.map((value, place) => {
    const height = (value / highest) * HEIGHT;
    return shape("rect", { x: place * STEP + 1, y: HEIGHT - height, width: STEP - 2, height });
  });
  const drawn = shape("svg", {
    viewBox: `0 0 ${DAYS * STEP} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label,
  }, ...bars);
  return [element("figure", {}, element("figcaption", { text: label }), drawn)];
}

/** @param {[string, (row: any) => any, string?][]} columns for each its name, its value and the class of its cells */
function fill(id, rows, columns) {
  byId(`${id}-none`).hidden = rows.length > 0;
  byId(id).closest(".operator-table").hidden = !rows.length;
  byId(id).replaceChildren(
    element("thead", {}, element("tr", {}, ...columns.map(([name, , kind = ""]) =>
      element("th", { scope: "col", className: kind, text: name })))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...columns.map(([, of, kind = ""]) =>
      element("td", { className: kind, text: of(row) }))))));
}

function showQuestions(id, rows, more = []) {
  fill(id, rows, [
    [t("Question"), ({ question }) => question], ...more,
    [t("Scope"), ({ filters, collections }) => [...scopeNames(filters), ...collections].join(" · ")],
    [t("Answer mode"), ({ mode }) => mode], [t("When"), ({ at }) => when(at, true)],
  ]);
}

async function show() {
  const [usage, unanswered, negative, jobs, session] = await Promise.all([
    getJson(`/api/usage?days=${DAYS}`), getJson("/api/unanswered"), getJson("/api/feedback?rating=down"),
    getJson("/api/ingestions?limit=50"), getJson("/api/session"),
  ]);
  const days = everyDay(usage.days);
  byId("plots").replaceChildren(...MEASURES.flatMap((measure) => plot(measure, days)));
  fill("usage", usage.days, [[t("Day"), ({ day }) => day], ...MEASURES.map(({ name, of, text }) =>
    /** @type {[string, (row: any) => any, string]} */ ([name, (day) => text(of(day)), "number"]))]);
  showQuestions("unanswered", unanswered.questions);
  showQuestions("negative", negative.feedback,
    [[t("Problem"), ({ reason, comment }) => [REASONS[reason], comment].filter(Boolean).join(": ")]]);
  fill("jobs", jobs.ingestions, [
    [t("Files"), ({ files }) => files.map(({ name }) => name).join(comma)],
    [t("Status"), (job) => stateText(job)],
    [t("Progress"), ({ progress }) => `${decimal(100 * (progress ?? 0), 0)} %`, "number"],
    [t("When"), ({ created_at: at }) => when(at, true)],
  ]);
  byId("own-only").hidden = session.key?.role === "admin";
  byId("operation").hidden = false;
}

try {
  await show();
} catch (error) {
  showError(byId("operator-error"), error);
}

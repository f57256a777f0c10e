/**
 * Usage by day, as plots and a table; questions and jobs that failed; keys, the check
 * of the doctor, and the settings.
 */
import { NO_ANSWER, REASONS } from "../chat/after.js";
import { at, getJson } from "../common/api.js";
import { byId, element, showError, showText } from "../common/dom.js";
import { scopeNames, when } from "../common/format.js";
import { cost, decimal } from "../common/measures.js";
import { shape } from "../common/shapes.js";
import { stageLabel } from "../common/stages.js";
import { isFinished, outcomeLine, stateText } from "../common/states.js";
import { comma, count, t, translated } from "../common/words.js";
import { showKeys, showSessions, wireKeys } from "./keys.js";
import { fill } from "./tables.js";

const DAYS = 30;
const DAY_MS = 86_400_000;
const STEP = 10;
const HEIGHT = 100;

const MEASURES = [
  { name: t("Questions"), of: ({ questions }) => questions, text: decimal },
  { name: t("Tokens"), of: ({ metered_tokens: tokens }) => tokens, text: decimal },
  {
    name: t("Cost"),
    of: ({ cost: sum }) => sum,
    text: (sum) => (sum === null ? t("unknown") : cost(sum)),
  },
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

/** Return the share of a job that runs, and how many files an ended one has added. */
function progressOf(job) {
  const { files, progress } = job;
  if (!isFinished(job)) return `${decimal(100 * (progress ?? 0), 0)} %`;
  const range = files.filter(({ state }) => state === "done").length;
  return t("{range} of {total}", { range, total: files.length });
}

function plot({ name, of, text }, days) {
  const values = days.map((day) => of(day) ?? 0);
  const highest = Math.max(...values, 0);
  if (!highest) return [];
  const label = t("{name} per day (peak: {highest})", { name, highest: text(highest) });
  const bars = values.map((value, place) => {
    const height = (value / highest) * HEIGHT;
    return shape("rect", {
      x: place * STEP + 1,
      y: HEIGHT - height,
      width: STEP - 2,
      height,
    });
  });
  const drawn = shape(
    "svg",
    {
      viewBox: `0 0 ${DAYS * STEP} ${HEIGHT}`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": label,
    },
    ...bars,
  );
  return [element("figure", {}, element("figcaption", { text: label }), drawn)];
}

/** Return the seconds that the steps of a day's questions took, one with another. */
const secondsOf = ({ stages = [], questions }) =>
  questions ? stages.reduce((sum, { ms }) => sum + ms, 0) / 1000 / questions : 0;

/** Return a link that asks a question again in its scope. */
function askLink({ question, filters, collections }) {
  const fields = Object.entries({ ...filters, collections }).flatMap(
    ([field, values]) =>
      [values]
        .flat()
        .filter((value) => typeof value !== "object")
        .map((value) => [field, String(value)]),
  );
  const query = new URLSearchParams([...fields, ["question", question]]);
  const link = element("a", { href: at(`/?${query}`), text: question });
  link.addEventListener("click", () =>
    sessionStorage.setItem("first-question", question),
  );
  return link;
}

/**
 * Return each question once, the newest of those that are the same, with how often it
 * was asked. The rows come with the newest first.
 */
function distinctQuestions(rows) {
  const same = Map.groupBy(rows, ({ question, filters, collections }) =>
    JSON.stringify([question.trim().toLowerCase(), filters, collections]),
  );
  return [...same.values()].map(([newest, ...older]) => ({
    ...newest,
    times: 1 + older.length,
  }));
}

/** Show questions as links, in the columns that any of them has something for. */
function showQuestions(id, rows, more = []) {
  const columns = [
    ...more,
    [
      t("Scope"),
      ({ filters, collections }) =>
        [...scopeNames(filters), ...collections].join(" · "),
    ],
    [t("Times"), ({ times = 1 }) => (times > 1 ? decimal(times) : ""), "number"],
    [t("Answer mode"), ({ mode }) => mode],
    [t("When"), ({ at: date }) => when(date, true)],
  ];
  fill(id, rows, [
    [t("Question"), askLink],
    ...columns.filter(([, of]) => rows.some(of)),
  ]);
}

const OUTCOMES = {
  added: t("added"),
  replaced: t("replaced"),
  unchanged: t("unchanged"),
  removed: t("removed"),
  failed: t("failed"),
  deleted: t("deleted by a person"),
  gone: t("no longer there"),
};

const FORBIDDEN = 403;
const NOT_FOUND = 404;

/**
 * Return what is about the whole installation. For a key with a limit, and where it is
 * of an extra that is left out, hide the section that it would be shown in, and return
 * null.
 */
async function ofInstallation(path, id) {
  try {
    return await getJson(path);
  } catch (error) {
    if (![FORBIDDEN, NOT_FOUND].includes(error.status)) throw error;
    byId(id).closest("section").hidden = true;
    return null;
  }
}

async function showSources() {
  const answer = await ofInstallation("/api/sources", "sources");
  if (!answer) return;
  const { sources } = answer;
  fill("sources", sources, [
    [t("Source"), ({ name }) => name],
    [
      t("Last run"),
      ({ started_at: from, finished_at: to }) =>
        to ? when(to, true) : from ? t("not finished") : t("never"),
    ],
    [
      t("Files"),
      ({ counts }) =>
        Object.entries(counts)
          .map(
            ([outcome, number]) => `${decimal(number)} ${OUTCOMES[outcome] ?? outcome}`,
          )
          .join(comma),
    ],
    [
      t("Problem"),
      ({ problem, failures }) =>
        [problem, ...failures.map(({ name, detail }) => `${name}: ${detail}`)]
          .filter(Boolean)
          .map(translated)
          .join(" · "),
    ],
  ]);
}

const SEVERITY = { ok: t("Fine"), warning: t("Warning"), error: t("Error") };

async function check() {
  const button = byId("check");
  button.disabled = true;
  showText(byId("check-state"), t("Checking …"));
  try {
    const { findings } = await getJson("/api/doctor");
    const wrong = findings.filter(({ severity }) => severity !== "ok").length;
    showText(
      byId("check-state"),
      wrong ? count(wrong, "finding") : t("Nothing is wrong."),
    );
    fill("findings", findings, [
      [t("Result"), ({ severity }) => SEVERITY[severity], "severity"],
      [t("Area"), ({ area }) => area.replaceAll("_", " ")],
      [t("Finding"), ({ message }) => message],
      [t("What to do"), ({ remedy }) => remedy],
    ]);
  } catch (error) {
    showText(byId("check-state"), translated(error.message));
  }
  button.disabled = false;
}

async function show() {
  const [usage, unanswered, negative, jobs, installed, session, signedIn] =
    await Promise.all([
      getJson(`/api/usage?days=${DAYS}`),
      getJson("/api/unanswered"),
      getJson("/api/feedback?rating=down"),
      getJson("/api/ingestions?limit=50"),
      ofInstallation("/api/settings", "settings"),
      getJson("/api/session"),
      ofInstallation("/api/sessions", "sessions"),
      showKeys(),
      showSources(),
    ]);
  if (signedIn) showSessions(signedIn);
  const days = everyDay(usage.days);
  byId("plots").replaceChildren(...MEASURES.flatMap((measure) => plot(measure, days)));
  const [newest] = usage.days;
  const isNewest = newest?.day === new Date().toISOString().slice(0, 10);
  showText(
    byId("outage"),
    isNewest && newest.degraded
      ? t("Today the language model failed for {number} of {whole}.", {
          number: decimal(newest.degraded),
          whole: count(newest.questions, "question"),
        })
      : "",
  );
  const columns = [
    ...MEASURES,
    ...(usage.total.degraded
      ? [
          {
            name: t("Without the model"),
            of: ({ degraded }) => degraded,
            text: decimal,
          },
        ]
      : []),
    {
      name: t("Seconds a question"),
      of: secondsOf,
      text: (value) => decimal(value, 2),
    },
  ];
  fill("usage", usage.days, [
    [t("Day"), ({ day }) => day],
    ...columns.map(
      ({ name, of, text }) =>
        /** @type {[string, (row: any) => any, string]} */ ([
          name,
          (day) => text(of(day)),
          "number",
        ]),
    ),
  ]);
  fill("stages", usage.total.stages, [
    [t("Step"), ({ stage }) => stageLabel(stage)],
    [t("Times"), ({ runs }) => decimal(runs), "number"],
    [t("Milliseconds each"), ({ ms, runs }) => decimal(ms / runs, 0), "number"],
  ]);
  showQuestions("unanswered", distinctQuestions(unanswered.questions), [
    [t("Missing"), ({ missing }) => missing.join(" · ")],
  ]);
  showQuestions("negative", negative.feedback, [
    [
      t("Problem"),
      ({ reason, comment }) =>
        [{ ...REASONS, ...NO_ANSWER }[reason], comment].filter(Boolean).join(": "),
    ],
  ]);
  fill("jobs", jobs.ingestions, [
    [t("Files"), ({ files }) => files.map(({ name }) => name).join(comma)],
    [t("Status"), (job) => (isFinished(job) ? outcomeLine(job.files) : stateText(job))],
    [t("Progress"), progressOf, "number"],
    [t("When"), ({ created_at: date }) => when(date, true)],
  ]);
  fill("settings", installed?.settings ?? [], [
    [t("Setting"), ({ name }) => element("code", { text: name })],
    [
      t("Value"),
      ({ value, is_default: isDefault }) =>
        element(isDefault ? "span" : "strong", { text: value }),
    ],
  ]);
  byId("own-only").hidden =
    (session.key ?? session.person)?.role === "admin" ||
    "local" in byId("own-only").dataset;
  byId("operation").hidden = false;
}

wireKeys();
byId("check").addEventListener("click", check);
try {
  await show();
} catch (error) {
  showError(byId("operator-error"), error);
}

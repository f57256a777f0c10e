/** Questions to go on with: each can be answered in the scope of the answer above. */
import { getJson } from "../common/api.js";
import { element } from "../common/dom.js";
import { isAttachment } from "../common/format.js";

function query(question, filters) {
  const chosen = Object.entries(filters ?? {}).flatMap(([field, values]) =>
    [values].flat().filter((value) => typeof value !== "object").map((value) => [field, String(value)]));
  return new URLSearchParams([["q", question.slice(0, 1000)], ...chosen]);
}

/** After an answer that rests on a report; what cannot be looked up is not offered. */
export async function showFurther(section, { question, filters }, { answered, citations }) {
  const cited = citations.find((citation) => !isAttachment(citation));
  if (!answered || !cited) return;
  try {
    const { questions } = await getJson(
      `/api/chunks/${encodeURIComponent(cited.chunk_id)}/further?${query(question, filters)}`);
    section.hidden = questions.length === 0;
    section.querySelector(".further-list").replaceChildren(...questions.map(({ question: text }) =>
      element("li", {}, element("button", { type: "button", className: "further-question", text }))));
  } catch {
    section.hidden = true;
  }
}

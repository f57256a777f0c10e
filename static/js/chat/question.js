import { chosenMode } from "./composer.js";
import { Scope } from "./scope.js";
import { language } from "../common/words.js";

/** Of the names of presets among the ways of answering. */
const PRESET = "preset:";

export const scope = new Scope();

/**
 * What a question of the composer is asked with.
 * @param {string} question
 * @param {object[]} attachments
 * @param {{page?: number, autoScope?: boolean}} [options]
 */
export const questionFrom = (question, attachments, { page, autoScope } = {}) =>
  ({ question, mode: chosenMode(), filters: scope.filters(), page, attachments, autoScope });

/** What a question of before was asked with; its attachments are gone but for their names. */
export const questionOf = ({ content, mode, preset, scope: filters, collections, page, auto_scope: autoScope, attached }) => ({
  question: content,
  mode: preset ? PRESET + preset : mode ?? chosenMode(),
  filters: { ...filters, ...(collections?.length && { collections }) },
  page: page ?? undefined,
  autoScope,
  attachments: (attached ?? []).map((name) => ({ name })),
});

/** The request: an answer goes on without this page, but for attachments, of which the server keeps nothing. */
export function payloadFor({ question, mode, filters, page, autoScope, attachments, addresses }, conversationId, replaced) {
  const { collections, ...fields } = filters;
  return {
    query: question,
    // A preset brings its mode.
    ...(mode.startsWith(PRESET) ? { preset: mode.slice(PRESET.length) } : { mode }),
    ...(language !== "en" && { language }),
    ...(!attachments.length && { resume: true }),
    ...(addresses.length && { attachments: addresses.map((url) => ({ url })) }),
    ...(Object.keys(fields).length && { filters: fields }),
    ...(collections && { collections }),
    ...(page && { page }),
    ...(autoScope === false && { auto_scope: false }),
    ...(conversationId && { conversation_id: conversationId }),
    ...(conversationId && replaced?.messageId && { replaces: replaced.messageId }),
    // Who wants another answer does not want the same one.
    ...(replaced?.isComplete && { cache: false }),
  };
}

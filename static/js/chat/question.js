import { chosenMode } from "./composer.js";
import { Scope } from "./scope.js";

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
export const questionOf = ({ content, mode, scope: filters, page, auto_scope: autoScope, attached }) => ({
  question: content, mode: mode ?? chosenMode(), filters: filters ?? {}, page: page ?? undefined, autoScope,
  attachments: (attached ?? []).map((name) => ({ name })),
});

/** The request: an answer goes on without this page, but for attachments, of which the server keeps nothing. */
export function payloadFor({ question, mode, filters, page, autoScope, attachments, addresses }, conversationId, replaced) {
  return {
    query: question,
    mode,
    ...(!attachments.length && { resume: true }),
    ...(addresses.length && { attachments: addresses.map((url) => ({ url })) }),
    ...(Object.keys(filters).length && { filters }),
    ...(page && { page }),
    ...(autoScope === false && { auto_scope: false }),
    ...(conversationId && { conversation_id: conversationId }),
    ...(conversationId && replaced?.messageId && { replaces: replaced.messageId }),
    // Who wants another answer does not want the same one.
    ...(replaced?.isComplete && { cache: false }),
  };
}

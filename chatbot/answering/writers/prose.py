"""Writes an answer from passages: by a language model, or as quotations where there is
none or it fails.
"""

import time
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from ...checking.wording import cited_numbers, unify_brackets
from ...domain import Context, Passage, SearchHit, TokenEvent
from ...domain.chat import Prompt, StepTiming
from ...domain.errors import (
    BudgetExhaustedError,
    ChatModelError,
    ContextLengthError,
)
from ...domain.protocols import Quoter
from ...language.markdown import escape_markdown, quotation_item
from ...models.chat.extractive import HEADER, MAX_QUOTATIONS
from ...models.replies.ending import Ending, EndingFilter, split_ending
from ...models.replies.stream import Reply, completion
from ...questions.operations import unmet_words
from ...questions.sides import by_comparison, others_named
from ...search.compression import Neighbours
from ...search.coverage import missing_numbers, names_outside, texts_of
from ...search.pipeline import with_rank
from ...search.unused_words import UnusedWords
from ..answer import prompt_for, with_note
from ..budget import Allowance
from ..context import build_context
from ..faults import empty_reply, error_text, explain
from ..figure_words import Rendered
from ..turn import Draft, Turn
from . import Desk

CLOSEST = "The reports do not answer this directly. Closest passages:"
UNUSED = "I could not use “{words}”: this answers only a part of the question."
INSTEAD = "Quoted from the reports instead:"
MIN_CONTEXT_TOKENS = 200
"""Tokens of passages below which no answer is worth writing."""
MAX_SHORTENINGS = 3
"""Tries with half of the passages: an eighth of them says little."""


@dataclass(frozen=True, slots=True)
class Written:
    """A text, and the passages that the model had for it: unless it quotes, it is
    checked against these.
    """

    text: str
    context: Context
    truncated: bool = False
    is_quoted: bool = False
    is_stated: bool = False
    """True if it is the one figure that is asked for, in place of quotations."""
    is_broken: bool = False
    """True if the model failed in the middle of it."""
    ending: Ending | None = None
    """What the model says of its answer; None where it says nothing."""
    prompt: Prompt | None = None
    """What the model wrote from."""


class Prose:
    """One answer from all that was found. Other writers change its prompt, or what is
    quoted without a model.
    """

    header = HEADER
    """The text above quotations."""
    may_quote = False
    """True if quotations of what was found stand in for a model that fails. Else the
    flow answers once more, as without a model; with ON_MODEL_ERROR=error that is an
    error, unless the mode was chosen for the question or the model wrote nothing.
    """

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def prompt(self, turn: Turn, context: Context) -> Prompt:
        """Return what the model is asked."""
        return prompt_for(turn.question, context)

    def quote(self, turn: Turn, context: Context) -> str:
        """Return quotations that answer the question."""
        return self.quotations(turn, turn.question.search_text, context)

    def value(self, turn: Turn, passage: Passage, context: Context) -> str:
        """Return the figure that is asked as a sentence from the first passage that
        would be quoted, instead of quotations; "" if none is surely meant.
        """
        return ""

    def unused(self, turn: Turn, quotes: str, context: Context) -> Sequence[str]:
        """Return the words of the question that quotations do not use."""
        cited = cited_numbers(quotes)
        hits: list[SearchHit] = []
        are_rows = bool(cited)
        for passage in context.passages:
            if passage.number not in cited:
                continue
            hits.append(passage.hit)
            if passage.hit.chunk.statements is None:
                are_rows = False
        if are_rows and len(hits) == 1:
            # A row is quoted alone; what its table is about stands around it.
            hits += _of_same_document(hits[0], context)
        chunks = [hit.chunk for hit in hits]
        words = UnusedWords(turn.judge)
        if are_rows:
            unused = words.of_rows(turn.reading, chunks)
        else:
            unused = words.of_passages(turn.reading, chunks)
        texts: list[str] = []
        for chunk in chunks:
            texts += texts_of(chunk)
        if hits and hits[0].heading_score is None:
            # Where headings name figures, their years are read before.
            unused = [*missing_numbers(turn.reading, texts), *unused]
        unused = [*names_outside(others_named(turn.reading), texts), *unused]
        if unused:
            return unused
        subjects = len(by_comparison(turn.reading))
        return unmet_words(turn.reading, quotes, subjects=subjects)

    def complete(self, turn: Turn, text: str, context: Context) -> tuple[str, str]:
        """Return the final text, and what stands below it without being checked against
        the passages.
        """
        return text, ""

    def context_tokens(self, turn: Turn) -> int:
        """Return the tokens that the passages may take."""
        return turn.settings.context_tokens

    def write(self, turn: Turn) -> Draft:
        """See `AnswerWriter`."""
        return self.write_from(turn, turn.found.hits)

    def write_from(
        self, turn: Turn, hits: Sequence[SearchHit], *, around: Neighbours | None = None
    ) -> Draft:
        """Answer from these hits, best first, as far as they fit.

        ``around`` gives what stands around passages that are in no store. Raises as
        `write` does.
        """
        hits = with_rank(hits)
        context = self._context(turn, hits, around)
        shown = [passage.hit for passage in context.passages]
        turn.events.sources(shown, turn.scope)
        unread = ""
        if hits:
            unread = self.desk.advice.on_language_of(turn, hits[0].chunk)
        note = "" if turn.has_model else self._note(turn, unread, shown)
        if note:
            turn.events.text(note)
        written = self.write_text(turn, context)
        text, below = self.complete(turn, written.text, written.context)
        return Draft(
            text=note + text,
            scope=turn.scope,
            hits=hits,
            context=written.context,
            below="\n\n".join(part for part in (below, unread) if part),
            truncated=written.truncated,
            is_quoted=written.is_quoted,
            is_stated=written.is_stated,
            is_sent=True,
            ending=written.ending,
            prompt=written.prompt if text == written.text else None,
        )

    def write_text(self, turn: Turn, context: Context) -> Written:
        """Let the model write, or quote. What was written before a failure stays.

        A prompt that is too long is tried again with the better half of its passages.
        Raises as `write` does.
        """
        limits = turn.limits
        stopper = limits.spending.stops_answer()
        if stopper:
            limits.stop(stopper)
            return self._quote_instead(turn, limits.why_stopped, context)
        turn.events.step("generate", "Writing the answer")
        # Without a language model only the double "echo" writes, unless a model failed.
        may_quote = self.may_quote or limits.failure is not None
        is_quoter = isinstance(self.desk.chat_model, Quoter)
        if is_quoter or (may_quote and not turn.has_model):
            # No prompt, and no reply to be read.
            started = time.perf_counter()
            written = self._quote(turn, context)
            limits.spending.add(StepTiming.since("generate", started))
            return written
        written = self._by_model(turn, context)
        if written.text and not written.is_broken:
            return written
        turn.events.stop_if_cancelled()
        why = limits.why_stopped
        error = limits.failure
        if error is not None:
            why = explain(turn, error)
        if error is None or not written.text:
            return self._quote_instead(turn, why, context)
        turn.events.text("\n\n")
        turn.own_lines.append(why)
        quoted = self._quote_instead(turn, why, written.context)
        return replace(written, text=f"{written.text}\n\n{quoted.text}")

    def quotations(
        self,
        turn: Turn,
        question: str,
        context: Context,
        hits: Sequence[SearchHit] | None = None,
    ) -> str:
        """Return a list of quotations that answer ``question``, from what its own
        search found, None = from all of the context.
        """
        passages = context.passages
        if hits is not None:
            by_id = {passage.hit.chunk.id: passage for passage in context.passages}
            passages = tuple(
                replace(by_id[hit.chunk.id], hit=hit)
                for hit in hits
                if hit.chunk.id in by_id
            )
        quotes = self.desk.quoter.quotes(question, passages)
        return "\n\n".join(quotation_item(quote, turn.say) for quote in quotes)

    def _context(
        self, turn: Turn, hits: Sequence[SearchHit], around: Neighbours | None
    ) -> Context:
        """Return the passages that fit, for a model with what stands around each."""
        started = time.perf_counter()
        context = Context(tuple(Passage(hit.rank, hit, hit.chunk.text) for hit in hits))
        if turn.has_model and hits:
            most = self.context_tokens(turn)
            budget = most
            left = turn.limits.spending.tokens_left
            if left is not None:
                budget = min(most, max(MIN_CONTEXT_TOKENS, left - MIN_CONTEXT_TOKENS))
            context = build_context(
                hits, around or self.desk.passages, budget_tokens=budget
            )
            if budget < most:
                note_left_out(turn, len(context.passages), len(hits))
        context = replace(context, reports=turn.scope.documents)
        turn.limits.spending.add(StepTiming.since("context", started))
        return context

    def _note(self, turn: Turn, unread: str, shown: Sequence[SearchHit]) -> str:
        """Return what is said above quotations of the passages that are ``shown``."""
        notes = [
            "" if unread else self.desk.advice.on_language(turn, shown),
            turn.say(CLOSEST) if turn.closest_only else "",
        ]
        return "".join(f"{text}\n\n" for text in notes if text)

    def _by_model(self, turn: Turn, context: Context) -> Written:
        """Return what the model wrote, nothing where it failed and may be replaced."""
        limits = turn.limits
        model = self.desk.chat_model
        known_fault = limits.fault_of(model.model_id)
        if known_fault is not None:
            self._note_failure(turn, known_fault, "")
            return Written("", context)
        allowance = Allowance(limits.spending, keep=0)
        steps: list[StepTiming] = []
        written = Written("", context)
        shown = context
        with turn.request.within(limits.spending.seconds_left()) as limited:
            while allowance.take():
                started = time.perf_counter()
                prompt = with_note(self.prompt(turn, shown), turn.missing)
                reply = Reply(prompt)
                try:
                    self._send(turn, completion(model, prompt, limited, reply))
                    if not reply.text and not limited.cancelled:
                        raise empty_reply(model.model_id)
                except BudgetExhaustedError as error:
                    if not (limits.spending.usage.calls or steps):
                        raise
                    limits.stop("tokens", error.message)
                    break
                except ChatModelError as error:
                    usage = reply.usage_of_failed(error)
                    if _may_shorten(shown, error, len(steps)):
                        steps.append(StepTiming.since("shorten", started, usage))
                        shown = _shortened(turn, shown)
                        continue
                    if error.reason == "empty":
                        usage = reply.usage
                    allowance.settle(
                        *steps, StepTiming.since("generate", started, usage)
                    )
                    text, _ = split_ending(reply.text)
                    self._note_failure(turn, error, text)
                    return Written(text, shown, is_broken=turn.quotes_on_error)
                steps.append(StepTiming.since("generate", started, reply.usage))
                if reply.cut_prompt:
                    turn.events.step("generate", reply.cut_prompt, failed=True)
                numbers = [passage.number for passage in shown.passages]
                text, ending = split_ending(reply.text)
                text = unify_brackets(text, numbers)
                written = Written(
                    text, shown, reply.truncated, ending=ending, prompt=prompt
                )
                break
        if allowance.refused:
            limits.stop("calls")
        allowance.settle(*steps)
        limits.note_time(limited)
        return written

    def _send(self, turn: Turn, tokens: Generator[TokenEvent, None, Reply]) -> None:
        """Send the words of the model without its last line, which is not shown; also
        those before a failure of the model.
        """
        spoken = EndingFilter()
        # Closed at once: what was received is counted then.
        with closing(tokens):
            try:
                for token in tokens:
                    shown = spoken.add(token.text)
                    if shown:
                        turn.events.text(shown)
            except ChatModelError:
                self._send_rest(turn, spoken)
                raise
        self._send_rest(turn, spoken)

    def _send_rest(self, turn: Turn, spoken: EndingFilter) -> None:
        rest = spoken.rest().rstrip()
        if rest:
            turn.events.text(rest)

    def _note_failure(self, turn: Turn, error: ChatModelError, written: str) -> None:
        """Note that the model failed after what is ``written``. Raises its error where
        quotations may not stand in for it here.
        """
        limits = turn.limits
        limits.failure = error
        limits.note_fault(self.desk.chat_model.model_id, error)
        if not self._may_replace(turn, error, written):
            raise error
        if error.reason == "empty":
            return
        limits.stopped_by = "model"
        turn.events.step("generate", error_text(turn, error), failed=True)

    def _may_replace(self, turn: Turn, error: ChatModelError, written: str) -> bool:
        """Return whether quotations may stand in for the model here. Where they may
        not, the flow answers once more, as without a model (ON_MODEL_ERROR), or it is
        an error.
        """
        if turn.quotes_on_error:
            return self.may_quote or bool(written)
        if error.reason == "empty":
            return True
        if not self.may_quote and not turn.was_routed:
            return False
        return bool(written) or turn.limits.may_go_on(error)

    def _quote(
        self, turn: Turn, context: Context, heading: str | None = None
    ) -> Written:
        quotes = self.quote(turn, context)
        stated = ""
        if heading is None:
            heading = turn.say(self.header) if self.header else ""
            stated = self._stated(turn, quotes, context)
        text = f"{heading}\n\n{quotes}" if heading else quotes
        if stated:
            # Every word of the question is a name of the figure.
            text = stated
        elif not turn.closest_only:
            text = self._naming_unused(turn, text, self.unused(turn, quotes, context))
        turn.events.text(text)
        return Written(text, context, is_quoted=True, is_stated=bool(stated))

    def _stated(self, turn: Turn, quotes: str, context: Context) -> str:
        """Return the figure of the first passage that is quoted; "" where none is
        meant.
        """
        first = cited_numbers(quotes)[:1]
        for passage in context.passages:
            if passage.number in first:
                return self.value(turn, passage, context)
        return ""

    def _naming_unused(self, turn: Turn, text: str, unused: Sequence[str]) -> str:
        """Return a text below a line that names the words that it does not use."""
        turn.unused = unused
        if not unused:
            return text
        turn.closest_only = True
        return f"{unused_line(turn, unused)}\n\n{text}"

    def _quote_instead(self, turn: Turn, why: str, context: Context) -> Written:
        """Quote in place of the model, and say why."""
        return self._quote(turn, context, f"{why} {turn.say(INSTEAD)}")


def _of_same_document(hit: SearchHit, context: Context) -> list[SearchHit]:
    """Return the prose of the document of a hit among the first passages: another row
    says nothing of this one.
    """
    prose: list[SearchHit] = []
    for passage in context.passages[:MAX_QUOTATIONS]:
        chunk = passage.hit.chunk
        if chunk.statements is None and chunk.document_id == hit.chunk.document_id:
            prose.append(passage.hit)
    return prose


def unused_line(turn: Turn, words: Sequence[str]) -> str:
    """Return a line that names the words of a question that its answer does not use."""
    return turn.say(UNUSED, words=escape_markdown("”, “".join(words)))


def note_left_out(turn: Turn, shown: int, hits: int) -> None:
    """Say so if the budget of tokens has no room for all hits: such an answer ended
    early.
    """
    if shown < hits and not turn.limits.stopped_by:
        text = "The budget of tokens leaves room for {shown} of {found} passages."
        turn.limits.stop("tokens", turn.say(text, shown=shown, found=hits))


class Computed(Prose):
    """A table of figures, or of what reports state, that is ready before the
    writing.
    """

    header = ""
    may_quote = True

    def __init__(self, desk: Desk, table: Rendered) -> None:
        super().__init__(desk)
        self._table = table

    def quote(self, turn: Turn, context: Context) -> str:
        return self._table.text

    def unused(self, turn: Turn, quotes: str, context: Context) -> Sequence[str]:
        if self._table.unused:
            return self._table.unused
        things = self._table.things
        sentence = quotes.partition("\n\n")[0]
        unused = UnusedWords(turn.judge).of_figures(turn.reading, things, sentence)
        texts = [quotes, *things]
        return [*names_outside(others_named(turn.reading), texts), *unused]

    def _note(self, turn: Turn, unread: str, shown: Sequence[SearchHit]) -> str:
        return ""


class LongProse(Prose):
    """An answer from several searches, for which quotations may stand in."""

    may_quote = True

    def context_tokens(self, turn: Turn) -> int:
        return turn.settings.deep_context_tokens


def _may_shorten(context: Context, error: ChatModelError, shortenings: int) -> bool:
    is_too_long = isinstance(error, ContextLengthError)
    return is_too_long and len(context.passages) > 1 and shortenings < MAX_SHORTENINGS


def _shortened(turn: Turn, context: Context) -> Context:
    """Return the better half of the passages, and say so."""
    keep = (len(context.passages) + 1) // 2
    turn.events.step(
        "shorten",
        f"Too much for the model: once more with the best {keep} of the passages",
    )
    return replace(context, passages=context.passages[:keep])

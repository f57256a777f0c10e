"""Lets the model write an answer again whose figures contradict their passages
(REPAIR). Only where no word was sent: what is streamed is marked. A figure that may be
computed, and that nothing refutes, is marked, too: the second text would lose it.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...checking.calculations import is_undecided
from ...checking.clauses import clauses
from ...checking.evidence import Evidence, evidence_of
from ...checking.wording import unify_brackets, without_numbers
from ...domain import Answer, Message, Passage
from ...domain.chat import StepTiming, Unsupported
from ...domain.errors import BudgetExhaustedError, ChatModelError
from ...domain.protocols import ChatModel
from ...language.figures import comma_decimals
from ...models.prompts import on_one_line, render
from ...models.replies.ending import split_ending
from ...models.replies.stream import Reply, complete
from ..budget import Allowance
from ..turn import Draft, Turn

__all__ = ["Repair"]


@dataclass(frozen=True, slots=True)
class Repair:
    """Asks the model that writes, once."""

    chat_model: ChatModel

    def run(self, turn: Turn, draft: Draft, answer: Answer) -> Draft | None:
        """Return the draft that the model writes in place of one with wrong figures;
        None where there is nothing to mend, or it fails.
        """
        if turn.question.is_streamed or not turn.settings.repair:
            return None
        if draft.prompt is None or draft.is_quoted or turn.limits.failure is not None:
            return None
        wrong: list[str] = []
        for doubt in _wrong_in(answer):
            values = ", ".join([*doubt.figures, *doubt.contradicted])
            sentence = on_one_line(without_numbers(doubt.sentence))
            wrong.append(f"- {sentence} (not so in its passages: {values})")
        if not wrong or turn.limits.spending.stops_answer():
            return None
        turn.events.step("repair", "Writing again, as figures were wrong", items=wrong)
        text = self._written(turn, draft, "\n".join(wrong))
        if not text:
            return None
        shown, ending = split_ending(text)
        numbers = [passage.number for passage in draft.context.passages]
        turn.events.forget_text()
        turn.events.text(shown)
        return replace(draft, text=unify_brackets(shown, numbers), ending=ending)

    def _written(self, turn: Turn, draft: Draft, wrong: str) -> str:
        """Return the model's second text, "" without one."""
        assert draft.prompt is not None, "a model has written it"
        first = draft.text
        if draft.ending is not None:
            # A model writes again what it sees of its own.
            first = f"{first}\n\n{draft.ending.as_line()}"
        again = (
            Message("assistant", first),
            Message("user", render("repair_user", wrong=wrong)),
        )
        prompt = replace(draft.prompt, messages=(*draft.prompt.messages, *again))
        spending = turn.limits.spending
        allowance = Allowance(spending, keep=0)
        if not allowance.take():
            return ""
        started = time.perf_counter()
        reply = Reply(prompt)
        usage = reply.usage
        try:
            with turn.request.within(spending.seconds_left()) as limited:
                complete(self.chat_model, prompt, limited, reply)
            usage = reply.usage
        except ChatModelError as error:
            usage = reply.usage_of_failed(error)
            turn.events.step("repair", error.finding, failed=True)
            return ""
        except BudgetExhaustedError as error:
            turn.events.step("repair", error.message, failed=True)
            return ""
        finally:
            allowance.settle(StepTiming.since("repair", started, usage))
        if reply.truncated or limited.cancelled:
            return ""
        return reply.text


def _wrong_in(answer: Answer) -> Iterator[Unsupported]:
    """Yield the doubtful clauses whose figures are wrong: not those that may be
    computed from what the passages say.
    """
    if not answer.unsupported:
        return
    evidence: list[Evidence] = []
    for citation in answer.citations:
        hit = citation.hit
        evidence.append(evidence_of(Passage(citation.number, hit, hit.chunk.text)))
    comma = comma_decimals(answer.response)
    sentences: dict[str, str] = {}
    for clause in clauses(answer.response):
        sentences.setdefault(clause.text, clause.sentence)
    for doubt in answer.unsupported:
        if not (doubt.contradicted or doubt.figures):
            continue
        sentence = sentences.get(doubt.sentence, "")
        if doubt.contradicted or not is_undecided(sentence, evidence, comma=comma):
            yield doubt

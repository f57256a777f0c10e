"""Lets a language model judge the sentences of its answer that figures and words leave
open, in one call (VERIFY).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...checking.meaning import (
    OpenSentence,
    SentenceVerdict,
    decided,
    doubts_of,
    open_sentences,
    with_doubts,
    without_open,
)
from ...domain import Answer, Passage
from ...models.prompts import inert, on_one_line, passage_fence
from ...models.replies import stage_prompt
from ...models.replies.verdicts import NumberedVerdict, verdicts
from ..dialogue import COMPUTED, with_numbers
from ..tools.model import ModelTool
from ..turn import Draft, Turn

__all__ = ["Verify"]


@dataclass(frozen=True, slots=True)
class Verify:
    """Asks the model that plans. Where it fails, or nothing of the budget is left, no
    sentence is doubted.
    """

    model: ModelTool

    def run(self, turn: Turn, draft: Draft, answer: Answer) -> Answer:
        """Return the answer with marks at what its passages do not say."""
        if turn.settings.verify == "off" or not turn.has_model or draft.is_quoted:
            return answer
        passages = _passages_of(draft, answer)
        sentences = open_sentences(answer.response, passages, answer.unsupported)
        if not sentences:
            return answer
        with turn.timed("verify"):
            turn.events.step("verify", "Checking the answer")
            shape = verdicts(len(sentences))
            prompt = stage_prompt(
                "verify",
                shape,
                turn.question.search_text,
                passages="\n\n".join(
                    [*_shown(sentences, passages), *_computed(draft, passages)]
                ),
                sentences=_listed(sentences),
            )
            judged = self.model.ask_of_answer(turn, "verify", shape, prompt)
        steps = turn.limits.spending.steps
        trace = replace(answer.trace, steps=steps, path=tuple(turn.events.path))
        answer = replace(answer, trace=trace)
        if judged is None:
            return answer
        counted = decided(_of_sentences(judged, sentences), passages)
        unsupported, marks = without_open(
            answer.response, sentences, counted, answer.unsupported, answer.marks
        )
        answer = replace(answer, unsupported=tuple(unsupported), marks=tuple(marks))
        return _marked(answer, passages, counted)


def _passages_of(draft: Draft, answer: Answer) -> dict[int, Passage]:
    """Return the cited passages under their numbers in the answer."""
    by_id = {one.hit.chunk.id: one for one in draft.context.passages}
    passages: dict[int, Passage] = {}
    for citation in answer.citations:
        passage = by_id.get(citation.hit.chunk.id)
        if passage is not None:
            passages[citation.number] = passage
    return passages


def _shown(
    sentences: Sequence[OpenSentence], passages: Mapping[int, Passage]
) -> list[str]:
    numbers: set[int] = set()
    for sentence in sentences:
        numbers.update(sentence.numbers)
    shown: list[str] = []
    for number in sorted(numbers):
        passage = passages[number]
        chunk = passage.hit.chunk
        head = on_one_line(f"{chunk.title}, {chunk.section}")
        shown.append(passage_fence(number, f"{head}\n{inert(passage.wider_text)}"))
    return shown


def _computed(draft: Draft, passages: Mapping[int, Passage]) -> list[str]:
    """Return the tables that the program computed for the answer, with the numbers that
    it gives their passages: they prove a rank or a superlative, which no passage says.
    """
    numbers = {passage.number: number for number, passage in passages.items()}
    return [
        f"{COMPUTED}\n{inert(with_numbers(table, numbers))}"
        for table in draft.context.computed
    ]


def _listed(sentences: Sequence[OpenSentence]) -> str:
    lines: list[str] = []
    for place, sentence in enumerate(sentences, start=1):
        cited = ", ".join(map(str, sentence.numbers))
        figures = ", ".join(sentence.figures)
        to_compute = f"; to compute: {figures}" if figures else ""
        words = on_one_line(sentence.words)
        lines.append(f"{place}. {words} (passages {cited}{to_compute})")
    return "\n".join(lines)


def _of_sentences(
    judged: Sequence[NumberedVerdict], sentences: Sequence[OpenSentence]
) -> list[SentenceVerdict]:
    """Return a verdict on each sentence; one that the model left out is supported."""
    given = {one.sentence: one for one in judged}
    found: list[SentenceVerdict] = []
    for number, sentence in enumerate(sentences, start=1):
        one = given.get(number)
        if one is None:
            found.append(SentenceVerdict(sentence, ""))
        else:
            found.append(
                SentenceVerdict(sentence, one.verdict, one.words, one.formulas)
            )
    return found


def _marked(
    answer: Answer,
    passages: Mapping[int, Passage],
    judged: Sequence[SentenceVerdict],
) -> Answer:
    unsupported, marks = doubts_of(answer.response, passages, judged)
    doubtful = [one for one in answer.unsupported if one.lacking]
    citations = with_doubts(
        answer.citations, answer.response, [*doubtful, *unsupported]
    )
    every = sorted([*answer.marks, *marks], key=lambda mark: (mark.start, mark.end))
    return replace(
        answer,
        citations=citations,
        unsupported=(*answer.unsupported, *unsupported),
        marks=tuple(every),
    )

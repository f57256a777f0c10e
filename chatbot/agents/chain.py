"""Chain of RAG (seed 002, R-C3): one simple question after the other, each asked with what the earlier ones found."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from ..cancellation import Cancellation
from ..generation.answer import prompt_for
from ..generation.sentences import cited_numbers, without_numbers
from ..model_output.shapes import follow_up, prose
from ..retrieval.scope import describe
from ..schema import Context, Event, Prompt, Question, SearchHit, StepEvent
from .answering import grounded, is_empty, when_empty
from .evidence import Evidence, numbered
from .opening import begun
from .parts import Parts
from .questions import fresh, narrowed
from .run import Run
from .writing import Way, quotations

NOT_FOUND = "not found"


@dataclass(frozen=True, slots=True)
class Link:
    """A question of the chain and its short answer."""

    question: str
    answer: str


class ChainAgent:
    """Implements `protocols.Agent`. Two generation calls a round and one for the answer, tries to repair apart.

    The seed asks a third time which passages support the short answer; here it cites them.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def run(self, question: Question, *, cancel: Cancellation) -> Iterator[Event]:
        run = Run(self._parts, question, cancel)
        if (scope := (yield from begun(run))) is None:
            return
        evidence, links, closest = yield from self._explore(run)
        if cancel.cancelled:
            return
        if is_empty(run, evidence.hits):
            yield from when_empty(run, scope, closest)
            return

        def prompt(question: Question, context: Context) -> Prompt:
            return prompt_for(question, context, asked="chain_answer_user", so_far=_told(links))

        way = Way(prompt, lambda context: quotations(run, run.question.search_text, context))
        yield from grounded(run, scope, evidence.hits, way, tokens=self._parts.deep_context_tokens)

    def _explore(self, run: Run) -> Generator[StepEvent, None, tuple[Evidence, list[Link], list[SearchHit]]]:
        """The passages that support the short answers, these, and all that was found."""
        evidence, links, closest = Evidence(), list[Link](), list[SearchHit]()
        for _ in range(self._parts.chain_rounds):
            asked = yield from self._next_question(run, links)
            if asked is None or run.cancel.cancelled:
                break
            yield run.step("follow_up", asked)
            (found,) = yield from run.search([narrowed(run, asked)])
            hits = list(found.hits) if found else []
            closest += hits
            if not hits:
                links.append(Link(asked, "Not found." if found else ""))
                continue
            answer, supporting = yield from self._answered(run, asked, hits)
            links.append(Link(asked, answer))
            evidence.add((asked, hit) for _, hit in evidence.unseen([(asked, supporting)], most=len(supporting)))
        return evidence, links, closest

    def _next_question(self, run: Run, links: Sequence[Link]) -> Generator[StepEvent, None, str | None]:
        """None: enough is known, the question was asked before, or the budget ends the chain.

        A first question that cannot be read is the main question itself.
        """
        said = yield from run.ask(
            "follow_up",
            follow_up(),
            "No further questions" if links else "The question itself is asked",
            question=run.question.search_text,
            scope=describe(run.question.scope),
            so_far=_told(links),
        )
        if said is None or (said.enough and not links):
            return None if links else run.question.search_text
        asked = [link.question for link in links]
        return None if said.enough else next(iter(fresh([said.question], asked)), None)

    def _answered(
        self, run: Run, asked: str, hits: Sequence[SearchHit]
    ) -> Generator[StepEvent, None, tuple[str, list[SearchHit]]]:
        """The short answer and the passages it cites; all of them where it cites none, none where it found nothing."""
        answer = yield from run.ask(
            "intermediate", prose(), "All passages are kept", passages=numbered(hits), question=asked
        )
        if answer is None:
            return "", list(hits)
        if answer.casefold().lstrip("*_\"' ").startswith(NOT_FOUND):
            yield run.step("intermediate", "Not found.")
            return "Not found.", []
        cited = [hits[number - 1] for number in cited_numbers(answer) if 1 <= number <= len(hits)]
        yield run.step("intermediate", answer, hits=cited)
        return answer, cited or list(hits)


def _told(links: Sequence[Link]) -> str:
    """Without citations: the numbers were those of a single round."""
    lines = [f"- {link.question}\n  {' '.join(without_numbers(link.answer).split()) or 'Unknown.'}" for link in links]
    return "\n".join(lines) or "Nothing yet."


build = ChainAgent

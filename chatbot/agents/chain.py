"""Chain of RAG (seed 002, R-C3): one simple question after the other, each asked with what the earlier ones found."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from ..grounding.answer import prompt_for
from ..grounding.wording import cited_numbers, without_numbers
from ..model_output.asking import follow_up, prose
from ..request import RequestContext
from ..schema import Event, Question, SearchHit, StepEvent
from .answering import WritingPlan, answer_research, open_research, quotations
from .run import AgentRun, BaseAgent
from .searches import Findings, narrowed_search, new_questions, number_passages

NOT_FOUND = "not found"


@dataclass(frozen=True, slots=True)
class Link:
    """A question of the chain and its short answer."""

    question: str
    answer: str


class ChainAgent(BaseAgent):
    """Implements `protocols.Agent`. Two generation calls a round and one for the answer, tries to repair apart.

    The seed asks a third time which passages support the short answer; here it cites them.
    """

    needs_language_model = True

    def run(self, question: Question, *, request: RequestContext) -> Iterator[Event]:
        """Ask on until the model says it is enough, the rounds are over, or the budget is."""
        run = AgentRun(self._resources, question, request)
        if (scope := (yield from open_research(run))) is None:
            return
        evidence, links, closest = yield from self._explore(run)
        prompt = partial(prompt_for, asked="chain_answer_user", so_far=_told(links))
        way = WritingPlan(prompt, lambda context: quotations(run, run.question.search_text, context))
        yield from answer_research(run, scope, evidence.hits, closest, way)

    def _explore(self, run: AgentRun) -> Generator[StepEvent, None, tuple[Findings, list[Link], list[SearchHit]]]:
        """The passages that support the short answers, these, and all that was found."""
        evidence, links, closest = Findings(), list[Link](), list[SearchHit]()
        for _ in range(run.settings.chain_rounds):
            asked = yield from self._next_question(run, links)
            if asked is None or run.request.cancelled:
                break
            yield run.step("follow_up", asked)
            (found,) = yield from run.search([narrowed_search(run.question, asked, run.resources.catalog)])
            hits = list(found.hits) if found else []
            closest += hits
            if not hits:
                links.append(Link(asked, "Not found." if found else ""))
                continue
            answer, supporting = yield from self._answered(run, asked, hits)
            links.append(Link(asked, answer))
            evidence.add((asked, hit) for _, hit in evidence.unseen([(asked, supporting)], most=len(supporting)))
        return evidence, links, closest

    def _next_question(self, run: AgentRun, links: Sequence[Link]) -> Generator[StepEvent, None, str | None]:
        """Return the next question; None if the passages are enough, it was asked before, or the budget ends the chain.

        A first question that cannot be read is the main question itself.
        """
        said = yield from run.ask(
            "follow_up",
            follow_up(),
            "No further questions" if links else "The question itself is asked",
            so_far=_told(links),
        )
        if said is None or (said.enough and not links):
            return None if links else run.question.search_text
        asked = [link.question for link in links]
        return None if said.enough else next(iter(new_questions([said.question], asked)), None)

    def _answered(
        self, run: AgentRun, asked: str, hits: Sequence[SearchHit]
    ) -> Generator[StepEvent, None, tuple[str, list[SearchHit]]]:
        """The short answer and the passages it cites; all of them where it cites none, none where it found nothing."""
        answer = yield from run.ask(
            "intermediate", prose(), "All passages are kept", passages=number_passages(hits), question=asked
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
    """The chain so far for a prompt, without citations: their numbers were those of a single round."""
    lines = [f"- {link.question}\n  {' '.join(without_numbers(link.answer).split()) or 'Unknown.'}" for link in links]
    return "\n".join(lines) or "Nothing yet."


build = ChainAgent

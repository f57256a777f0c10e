"""Deep search (seed 002, R-C2): sub-questions searched at once, judged, and asked on until nothing is missing."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

from ..cancellation import Cancellation
from ..generation.answer import prompt_for
from ..model_output.shapes import numbers, queries
from ..retrieval.decomposition import sub_questions
from ..retrieval.scope import describe
from ..schema import Context, Event, Prompt, Question, SearchHit, StepEvent
from ..text import counted, escape_markdown
from .answering import grounded, is_empty, when_empty
from .evidence import Evidence, numbered
from .opening import begun
from .parts import Parts
from .questions import fresh, listed, narrowed
from .run import Run
from .writing import Way, quotations

SUB_QUESTIONS = 4
GAPS = 3
JUDGED = 24
"""Passages that one call judges, and so the most that a round brings."""


class DeepAgent:
    """Implements `protocols.Agent`. With r rounds at most 2 + 2 r generation calls, and tries to repair apart.

    The question itself is searched beside its parts. Without a language model: one round, sub-questions by rule,
    and quotations for each.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._rounds = parts.deep_rounds if parts.language_model else 1

    def run(self, question: Question, *, cancel: Cancellation) -> Iterator[Event]:
        run = Run(self._parts, question, cancel)
        if (scope := (yield from begun(run))) is None:
            return
        plan = yield from self._plan(run)
        evidence, asked, closest = yield from self._explore(run, plan)
        if cancel.cancelled:
            return
        if is_empty(run, evidence.hits):
            yield from when_empty(run, scope, closest)
            return

        def prompt(question: Question, context: Context) -> Prompt:
            return prompt_for(question, context, asked="deep_answer_user", queries=listed(asked))

        way = Way(prompt, lambda context: _by_question(run, plan, evidence, context))
        yield from grounded(run, scope, evidence.hits, way, tokens=self._parts.deep_context_tokens)

    def _plan(self, run: Run) -> Generator[StepEvent, None, list[str]]:
        question = run.question
        plan = None
        if self._parts.language_model:
            plan = yield from run.ask(
                "plan",
                queries(SUB_QUESTIONS),
                "Sub-questions by rule",
                most=str(SUB_QUESTIONS),
                scope=describe(question.scope),
                question=question.search_text,
            )
        if not plan:
            plan = sub_questions(question.search_text, question.scope, self._parts.catalog, most=SUB_QUESTIONS)
        plan = fresh(plan, [question.search_text]) or [question.search_text]  # that is searched for anyway
        if plan != [question.search_text]:
            yield run.step("plan", counted(len(plan), "sub-question"), items=plan)
        return plan

    def _explore(
        self, run: Run, plan: Sequence[str]
    ) -> Generator[StepEvent, None, tuple[Evidence, list[str], list[SearchHit]]]:
        """What was kept, what was asked, and what came closest where nothing was kept."""
        evidence, asked, closest = Evidence(), list[str](), list[SearchHit]()
        open_questions = [run.question.search_text, *plan]
        for round_number in range(1, self._rounds + 1):
            new_questions = fresh(open_questions, asked)
            if not new_questions or run.cancel.cancelled:
                break
            asked += new_questions
            yield run.step("search", f"Round {round_number}: {counted(len(new_questions), 'search')} at once")
            found = yield from run.search([narrowed(run, query) for query in new_questions])
            hits = [(query, self._near(one.hits)) for query, one in zip(new_questions, found, strict=True) if one]
            new = evidence.unseen(hits, most=JUDGED)
            closest += [hit for _, hit in new]
            kept = yield from self._relevant(run, asked, new)
            evidence.add(kept)
            if not kept or round_number == self._rounds:
                break  # nothing new, or nobody would search for what is missing
            open_questions = yield from self._gaps(run, asked, evidence)
        return evidence, asked, closest

    def _near(self, hits: Sequence[SearchHit]) -> Sequence[SearchHit]:
        """Without a model to judge them: those that are not about something else, unless anything will do."""
        if self._parts.language_model or self._parts.on_empty == "relax":
            return hits
        return [hit for hit in hits if (hit.score or 0.0) >= self._parts.relevance_floor]

    def _relevant(
        self, run: Run, asked: Sequence[str], new: Sequence[tuple[str, SearchHit]]
    ) -> Generator[StepEvent, None, Sequence[tuple[str, SearchHit]]]:
        """Those that the model calls relevant, in one call; all of them where it cannot be read (R-C9)."""
        if not new or not self._parts.language_model:
            return new
        chosen = yield from run.ask(
            "relevance",
            numbers(len(new)),
            "All passages are kept",
            passages=numbered([hit for _, hit in new]),
            queries=listed(asked),
        )
        if chosen is None:
            return new
        yield run.step("relevance", f"{len(chosen)} of {counted(len(new), 'passage')} help")
        return [new[number - 1] for number in sorted(chosen)]

    def _gaps(self, run: Run, asked: Sequence[str], evidence: Evidence) -> Generator[StepEvent, None, list[str]]:
        """What is still to be asked; nothing where the model cannot be read."""
        gaps = yield from run.ask(
            "reflect",
            queries(GAPS),
            "No further searches",
            most=str(GAPS),
            passages=numbered(evidence.hits, tokens=self._parts.deep_context_tokens),
            question=run.question.search_text,
            scope=describe(run.question.scope),
            queries=listed(asked),
        )
        if gaps is None:
            return []
        yield run.step("reflect", "Something is missing" if gaps else "The passages are enough", items=gaps)
        return gaps


def _by_question(run: Run, plan: Sequence[str], evidence: Evidence, context: Context) -> str:
    """Quotations under each sub-question; those of the whole question where there is only that."""
    place = {passage.hit.chunk.id: passage.number for passage in context.passages}
    parts = []
    for query in plan if len(plan) > 1 else ():
        found = [place[hit.chunk.id] for hit in evidence.of(query) if hit.chunk.id in place]
        quoted = quotations(run, query, context, found) if found else "Nothing was found."
        parts.append(f"**{escape_markdown(query)}**\n\n{quoted}")
    return "\n\n".join(parts) or quotations(run, plan[0] if len(plan) == 1 else run.question.search_text, context)


build = DeepAgent

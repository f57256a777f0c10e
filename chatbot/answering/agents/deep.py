"""Deep search (seed 002, R-C2): sub-questions searched at once, and more questions
until nothing is missing.
"""

from collections.abc import Generator, Iterator, Sequence
from functools import partial

from ...domain import Context, Event, SearchHit, StepEvent
from ...language.counts import count_of
from ...language.markdown import escape_markdown
from ...models import replies
from ..answer import NOTHING, prompt_for
from .answering import WritingPlan, answer_research, open_research, quotations
from .run import AgentRun, BaseAgent
from .searches import (
    Findings,
    bullet_list,
    narrowed_search,
    new_questions,
    number_passages,
)
from .tables import answer_rendered, compile_table, parts_of

TERMS = 6
"""Terms that a model may add to a question."""
MAX_SUB_QUESTIONS = 4
"""Questions that the first round searches for, as in DeepSearcher."""
MAX_GAP_QUESTIONS = 3
"""Questions that a later round adds, as in DeepSearcher."""
JUDGED = 24
"""Passages that one call judges, and so the most that a round brings."""


class DeepAgent(BaseAgent):
    """With r rounds at most 2 + 2 r generation calls, besides repairs. The question
    itself is searched beside its parts. Without a language model: one round,
    sub-questions by rule, and quotations for each.
    """

    def answer(self, run: AgentRun) -> Iterator[Event]:
        """Plan, rounds of searches, then one answer from what was kept."""
        if (scope := (yield from open_research(run))) is None:
            return
        if not run.has_model and (
            yield from answer_rendered(run, scope, compile_table(run))
        ):
            return
        plan = yield from self._plan(run)
        evidence, searched, closest = Findings(), list[str](), list[SearchHit]()
        # Without a model the quotations are those of the parts.
        open_questions = (
            plan
            if len(plan) > 1 and not run.has_model
            else [run.question.search_text, *plan]
        )
        if run.question.expand and run.has_model:
            terms = yield from run.ask(
                "expand", replies.queries(TERMS), "No further terms", most=str(TERMS)
            )
            if terms:
                yield run.step("expand", "Also searched for", items=terms)
                open_questions.append(" ".join([run.question.search_text, *terms]))
        rounds = run.settings.deep_rounds if run.has_model else 1
        for round_number in range(1, rounds + 1):
            queries = new_questions(open_questions, searched)
            if not queries or run.request.cancelled:
                break
            searched += queries
            yield run.step(
                "search",
                f"Round {round_number}: {count_of(len(queries), 'search')} at once",
            )
            searches = [
                narrowed_search(run.question, query, run.resources.catalog)
                for query in queries
            ]
            results = yield from run.search(searches)
            pairs = zip(queries, results, strict=True)
            hits = [
                (query, self._near(run, query, result.hits))
                for query, result in pairs
                if result
            ]
            new = evidence.unseen(hits, most=JUDGED)
            closest += [hit for _, hit in new]
            kept = (
                (yield from self._relevant(run, searched, new))
                if new and run.has_model
                else new
            )
            evidence.add(kept)
            if not kept or round_number == rounds:
                break  # nothing new, or nobody would search for what is missing
            open_questions = yield from self._gaps(run, searched, evidence)
        prompt = partial(
            prompt_for, template="deep_answer_user", queries=bullet_list(searched)
        )
        way = WritingPlan(
            prompt, lambda context: _by_question(run, plan, evidence, context)
        )
        yield from answer_research(run, scope, evidence.hits, closest, way)

    def _plan(self, run: AgentRun) -> Generator[StepEvent, None, list[str]]:
        question, most = run.question, MAX_SUB_QUESTIONS
        plan = None
        if run.has_model:
            plan = yield from run.ask(
                "plan", replies.queries(most), "Sub-questions by rule", most=str(most)
            )
        if not plan:
            plan = parts_of(run, most)
        plan = new_questions(plan, [question.search_text]) or [
            question.search_text
        ]  # which is searched anyway
        if plan != [question.search_text]:
            yield run.step("plan", count_of(len(plan), "sub-question"), items=plan)
        return plan

    def _near(
        self, run: AgentRun, query: str, hits: Sequence[SearchHit]
    ) -> Sequence[SearchHit]:
        """The hits that are not about something else, where no model judges them; all
        with `ON_EMPTY`=relax.
        """
        if run.has_model or run.settings.on_empty == "relax":
            return hits
        if run.judge.verdict(run.read(query), hits) == "nothing":
            return []
        return [hit for hit in hits if (hit.score or 0.0) >= run.judge.bounds.floor]

    def _relevant(
        self,
        run: AgentRun,
        searched: Sequence[str],
        new: Sequence[tuple[str, SearchHit]],
    ) -> Generator[StepEvent, None, Sequence[tuple[str, SearchHit]]]:
        """The new hits that the model calls relevant, in one call; all if its reply
        cannot be read (R-C9).
        """
        passages = number_passages([hit for _, hit in new])
        shape, queries = replies.numbers(len(new)), bullet_list(searched)
        chosen = yield from run.ask(
            "relevance",
            shape,
            "All passages are kept",
            passages=passages,
            queries=queries,
        )
        if chosen is None:
            return new
        yield run.step(
            "relevance", f"{len(chosen)} of {count_of(len(new), 'passage')} help"
        )
        return [new[number - 1] for number in sorted(chosen)]

    def _gaps(
        self, run: AgentRun, searched: Sequence[str], evidence: Findings
    ) -> Generator[StepEvent, None, list[str]]:
        """Questions for what is still missing; none if the model's reply cannot be
        read.
        """
        gaps = yield from run.ask(
            "reflect",
            replies.queries(MAX_GAP_QUESTIONS),
            "No further searches",
            most=str(MAX_GAP_QUESTIONS),
            passages=number_passages(
                evidence.hits, tokens=run.settings.deep_context_tokens
            ),
            queries=bullet_list(searched),
        )
        if gaps is None:
            return []
        yield run.step(
            "reflect",
            "Something is missing" if gaps else "The passages are enough",
            items=gaps,
        )
        return gaps


def _by_question(
    run: AgentRun, plan: Sequence[str], evidence: Findings, context: Context
) -> str:
    """Quotations under each sub-question; those of the whole question if there is no
    other.
    """
    shown = []
    for query in plan if len(plan) > 1 else ():
        quoted = quotations(run, query, context, evidence.of(query)) or run.say(NOTHING)
        shown.append(f"**{escape_markdown(query)}**\n\n{quoted}")
    return "\n\n".join(shown) or quotations(
        run, plan[0] if len(plan) == 1 else run.question.search_text, context
    )


build = DeepAgent

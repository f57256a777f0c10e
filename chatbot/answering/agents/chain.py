"""Chain of RAG (seed 002, R-C3): simple questions one after the other, each based on
the earlier answers.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from ...checking.wording import cited_numbers, without_numbers
from ...domain import Event, SearchHit
from ...models.replies import follow_up, prose
from ..answer import prompt_for
from .answering import WritingPlan, answer_research, open_research, quotations
from .run import AgentRun, BaseAgent
from .searches import Findings, narrowed_search, new_questions, number_passages

NOT_FOUND = "not found"
Links = list[tuple[str, str]]
"""The questions of the chain, each with its short answer."""


class ChainAgent(BaseAgent):
    """Two generation calls a round and one for the answer, besides repairs. The seed
    asks a third time which passages support the short answer; here it cites them.
    """

    needs_language_model = True

    def answer(self, run: AgentRun) -> Iterator[Event]:
        """Ask until the model says that it is enough or repeats a question, or the
        rounds or the budget are used up.
        """
        if (scope := (yield from open_research(run))) is None:
            return
        evidence, links, closest = Findings(), Links(), list[SearchHit]()
        for _ in range(run.settings.chain_rounds):
            otherwise = (
                "No further questions" if links else "The question itself is asked"
            )
            question = yield from run.ask(
                "follow_up", follow_up(), otherwise, so_far=_lines(links)
            )
            if links and not question:
                break
            # Without a readable first question, the question itself is asked.
            query = question or run.question.search_text
            if (
                not new_questions([query], [question for question, _ in links])
                or run.request.cancelled
            ):
                break
            yield run.step("follow_up", query)
            (result,) = yield from run.search(
                [narrowed_search(run.question, query, run.resources.catalog)]
            )
            hits = list(result.hits) if result else []
            closest += hits
            if not hits:
                links.append((query, "Not found." if result else ""))
                continue
            passages = number_passages(hits)
            short = yield from run.ask(
                "intermediate",
                prose(),
                "All passages are kept",
                passages=passages,
                question=query,
            )
            if short is not None and short.casefold().lstrip("*_\"' ").startswith(
                NOT_FOUND
            ):
                short, supporting = "Not found.", list[SearchHit]()
                yield run.step("intermediate", "Not found.")
            elif short is not None:
                supporting = [
                    hits[number - 1]
                    for number in cited_numbers(short)
                    if 1 <= number <= len(hits)
                ]
                yield run.step("intermediate", short, hits=supporting)
                supporting = supporting or hits
            else:
                supporting = hits
            links.append((query, short or ""))
            evidence.add(
                (query, hit)
                for _, hit in evidence.unseen(
                    [(query, supporting)], most=len(supporting)
                )
            )
        prompt = partial(prompt_for, template="chain_answer_user", so_far=_lines(links))
        way = WritingPlan(
            prompt, lambda context: quotations(run, run.question.search_text, context)
        )
        yield from answer_research(run, scope, evidence.hits, closest, way)


def _lines(links: Sequence[tuple[str, str]]) -> str:
    """The chain so far for a prompt, without citations: their numbers were those of a
    single round.
    """
    lines = [
        f"- {query}\n  {' '.join(without_numbers(answer).split()) or 'Unknown.'}"
        for query, answer in links
    ]
    return "\n".join(lines) or "Nothing yet."


build = ChainAgent

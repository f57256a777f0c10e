"""`ask`: one question on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from ..cancellation import Cancellation
from ..conversation.service import Saved
from ..schema import Question, StepEvent, TokenEvent
from ..schema.question_text import question_problem
from ..services import Services
from .telling import is_read_along, tell_answer, tell_step


def _question_text(context: click.Context, parameter: click.Parameter, text: str) -> str:
    """Without the space around it. Raises BadParameter."""
    text = text.strip()
    if problem := question_problem(text):
        raise click.BadParameter(problem)
    return text


@dataclass(frozen=True, slots=True)
class Options:
    """As they were given; empty or None where they were not."""

    country: tuple[str, ...]
    year: tuple[str, ...]
    report_type: tuple[str, ...]
    collection: tuple[str, ...]
    limit: int | None
    mode: str | None
    retrieval_method: str | None
    vector_weight: float | None
    no_reranking: bool
    preset: str
    auto_scope: bool | None

    def settings(self) -> dict[str, Any]:
        """The settings they change."""
        changed: dict[str, Any] = {} if self.vector_weight is None else {"vector_weight": self.vector_weight}
        return {**changed, "reranker": "none"} if self.no_reranking else changed

    def question(self, text: str, services: Services) -> Question:
        """Raises InvalidRequestError, UnknownNameError."""
        chosen = {"country_name": self.country, "year": self.year, "type": self.report_type}
        filters: dict[str, Any] = {name: list(values) for name, values in chosen.items() if values}
        settings = services.query_settings(self.preset)
        method = self.retrieval_method or settings.retrieval_method
        services.retrieval_method(method)
        return Question(
            query=text,
            scope=services.scopes.resolve(filters, collections=self.collection or None),
            top_k=self.limit or settings.top_k,
            retrieval_method=method,
            mode=services.check_mode(self.mode, self.preset),
            budget=services.budget({}),
            preset=self.preset,
            auto_scope=services.settings.auto_scope if self.auto_scope is None else self.auto_scope,
        )


@click.command()
@click.argument("question", callback=_question_text)
@click.option("--country", multiple=True, help="Country, by name, ISO code or alias; repeat for several.")
@click.option("--year", multiple=True, help="Year; repeat for several.")
@click.option("--type", "report_type", multiple=True, help="Report type; repeat for several.")
@click.option("--collection", multiple=True, help="Collection to search; repeat for several. Default: all.")
@click.option("--limit", type=click.IntRange(1, 50), help="Passages the answer stands on. Default: TOP_K.")
@click.option("--mode", help="direct, auto, deep, chain, compare or report. Default: MODE.")
@click.option("--retrieval-method", help="vector, bm25 or hybrid. Default: RETRIEVAL_METHOD.")
@click.option("--vector-weight", type=click.FloatRange(0, 1), help="Weight of the vectors in hybrid retrieval.")
@click.option("--no-reranking", is_flag=True, help="Leave the hits in the order of the search: RERANKER=none.")
@click.option("--preset", default="", help="adaptive, compression, hybrid, deep or deterministic.")
@click.option(
    "--auto-scope/--no-auto-scope", default=None, help="Apply countries and years of the question. Default: AUTO_SCOPE."
)
@click.option("--json", "as_json", is_flag=True, help="Print the /query response.")
@click.pass_obj
def ask(services: Services, /, question: str, as_json: bool, **given: Any) -> None:
    """Answer QUESTION from the reports.

    Example: python -m chatbot ask "What is the population growth rate?" --country KE --year 2023
    """
    options = Options(**given)
    if changed := options.settings():
        services = click.get_current_context().with_resource(Services(services.settings.override(**changed)))
    shown = ""
    for event in services.chat.stream(options.question(question, services), cancel=Cancellation()):
        if isinstance(event, TokenEvent) and is_read_along(as_json=as_json):
            shown += event.text
            click.echo(event.text, nl=False)
        elif isinstance(event, StepEvent) and not as_json:
            tell_step(event)
        elif isinstance(event, Saved):
            tell_answer(event, shown, as_json=as_json)

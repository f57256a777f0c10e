"""The parts of an answer that every agent shares: the prompt, the honest "not found", the assembled result."""

from __future__ import annotations

from collections.abc import Sequence

from ..prompts import render
from ..retrieval.pipeline import Retrieval
from ..retrieval.scope import describe
from ..schema import (
    Answer,
    Context,
    Message,
    Prompt,
    Question,
    ScopeSummary,
    SearchHit,
    StepEvent,
    StepTiming,
    Stopper,
    Trace,
)
from ..text import escape_markdown, estimate_tokens
from .citations import check
from .context import in_prompt_order
from .rendering import render_passage

CLOSEST_SHOWN = 3
HISTORY_MESSAGES = 10
HISTORY_TOKENS = 1500
"""How much of the conversation goes into a prompt, besides the question: the latest messages that fit both."""


def grounded_prompt(question: Question, context: Context) -> Prompt:
    """The prompt of an answer from passages: rules, history, then passages, scope and question.

    Names from documents (a scope may hold some) never stand in the system message.
    """
    return prompt_for(question, context)


def prompt_for(
    question: Question, context: Context, *, rules: str = "answer_system", asked: str = "answer_user", **values: str
) -> Prompt:
    """The same with other templates; ``values`` are those of ``asked`` besides passages, scope and question."""
    passages = "\n\n".join(render_passage(passage) for passage in in_prompt_order(context))
    scope = describe(question.scope)
    text = render(asked, passages=passages, scope=scope, question=question.query, **values)
    return _prompt(question, render(rules), text, context)


def general_prompt(question: Question) -> Prompt:
    """The prompt of ON_EMPTY=general: no passages, and the model has to say so."""
    asked = render("general_user", scope=describe(question.scope), question=question.query)
    return _prompt(question, render("general_system"), asked, Context())


def _prompt(question: Question, rules: str, asked: str, context: Context) -> Prompt:
    messages = (Message("system", rules), *latest(question.history), Message("user", asked))
    return Prompt(messages, question.search_text, context)


def latest(history: Sequence[Message]) -> list[Message]:
    """The newest messages within both bounds, oldest first. A client's system messages are not ours to repeat."""
    kept: list[Message] = []
    tokens = 0
    for message in reversed([message for message in history if message.role != "system"]):
        tokens += estimate_tokens(message.content)
        if len(kept) == HISTORY_MESSAGES or tokens > HISTORY_TOKENS:
            break
        kept.append(message)
    return kept[::-1]


def not_found(scope: ScopeSummary, closest: Sequence[SearchHit]) -> str:
    """What is said instead of an invented answer: where was searched, and what came closest."""
    where = escape_markdown(describe(scope.scope)) + (f", page {scope.page}" if scope.page else "")
    text = f"The reports searched ({where}) do not seem to answer this question."
    if closest:
        lines = [f"- {_named(hit)}" for hit in closest[:CLOSEST_SHOWN]]
        text += "\n\nThe closest passages:\n\n" + "\n".join(lines)
    return text


def _named(hit: SearchHit) -> str:
    name = escape_markdown(f"{hit.chunk.title}, {hit.chunk.section or 'passage'}")
    return name + (f" (similarity {hit.score:.2f})" if hit.score else "")


def assemble(
    question: Question,
    response: str,
    *,
    scope: ScopeSummary,
    context: Context = Context(),  # noqa: B008  # frozen and empty
    retrieval: Retrieval | None = None,
    steps: Sequence[StepTiming] = (),
    path: Sequence[StepEvent] = (),
    stopped_by: Stopper = "",
    truncated: bool = False,
) -> Answer:
    """The answer with its citations and trace. It counts as answered when it cites at least one passage."""
    checked = check(response, context, question)
    trace = Trace(
        mode=question.mode,
        retrieval_method=question.retrieval_method,
        query=question.search_text,
        threshold=retrieval.threshold if retrieval else None,
        hits=retrieval.hits if retrieval else (),
        steps=(*(retrieval.steps if retrieval else ()), *steps),
        path=tuple(path),
        stopped_by=stopped_by,
        truncated=truncated,
    )
    return Answer(
        response=response,
        answered=bool(checked.citations),
        citations=checked.citations,
        scope=scope,
        trace=trace,
        unsupported=checked.unsupported,
    )

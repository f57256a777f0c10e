"""Answers from passages, for every agent: the prompt, the writing, the "not found" text and the result."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ..errors import ChatModelError, ContextLengthError
from ..model_output.stream import Reply, completion, without_thoughts
from ..prompts import PASSAGE, on_one_line, render
from ..protocols import ChatModel
from ..request import RequestContext
from ..retrieval.scope import describe
from ..schema import (
    Aggregation,
    Answer,
    Context,
    Message,
    Prompt,
    QuerySettings,
    Question,
    ScopeSummary,
    SearchHit,
    StepEvent,
    StepTiming,
    Stopper,
    Threshold,
    TokenEvent,
    Trace,
)
from ..text import escape_markdown, estimate_tokens
from ..words import Say, in_english
from .citations import check
from .context import in_prompt_order, keep_best, render_passage
from .figure_list import cited_figures
from .wording import in_order_of_appearance, unify_brackets, without_numbers

OnEmpty = Literal["abstain", "relax", "general"]
"""If nothing is found: say so, use the closest passages, or let the model answer from its own knowledge."""
CLOSEST_SHOWN = 3
CONTEXT_HEADING = "Relevant knowledge base context:"
HISTORY_MESSAGES = 10
HISTORY_TOKENS = 1500
"""Limits of the latest messages in a prompt, besides the question."""
MAX_SHORTENINGS = 3


def prompt_for(
    question: Question, context: Context, *, rules: str = "answer_system", asked: str = "answer_user", **values: str
) -> Prompt:
    """Return the prompt of an answer from passages: rules, history, then passages, scope and question.

    Names from documents, such as those in a scope, are never in the system message. ``values``: those of the template
    ``asked`` besides passages, scope, day and question.
    """
    text = render(asked, passages=_rendered(context), **_asked(question), **values)
    return _prompt(question, render(rules, figures=render("figures")), text, context)


def as_set(prompt: Prompt, settings: QuerySettings) -> Prompt:
    """Put SYSTEM_PROMPT before the rules (R-E7) and the passages into the message that the settings name.

    With CONTEXT_ROLE=system the passages end the system message (R-E2, R-E4), still marked as quoted.
    """
    rules, *history, user = prompt.messages
    parts = [settings.system_prompt, rules.content] if settings.system_prompt else [rules.content]
    if settings.context_role == "system" or not settings.context_metadata:
        text, shown = _rendered(prompt.context), _rendered(prompt.context, metadata=settings.context_metadata)
        if settings.context_role == "system" and text:
            parts += [CONTEXT_HEADING, PASSAGE.sub(r"[\1]\n", shown)]
            shown = ""
        user = replace(user, content=user.content.replace(text, shown, 1).strip())
    return replace(prompt, messages=(replace(rules, content="\n\n".join(parts)), *history, user))


def _rendered(context: Context, *, metadata: bool = True) -> str:
    return "\n\n".join(render_passage(passage, metadata=metadata) for passage in in_prompt_order(context))


def general_prompt(question: Question) -> Prompt:
    """Return the prompt of ON_EMPTY=general, without passages; the model must say so."""
    return _prompt(question, render("general_system"), render("general_user", **_asked(question)), Context())


def _asked(question: Question) -> dict[str, str]:
    """Return what every prompt of an answer has besides its passages."""
    attached = "; ".join(on_one_line(document.name) for document in question.attachments)
    scope = f"only what is attached to the question: {attached}" if attached else describe(question.scope)
    return {"scope": scope, "today": question.today.isoformat(), "question": question.query}


def _prompt(question: Question, rules: str, asked: str, context: Context) -> Prompt:
    messages = (Message("system", rules), *latest(question.history), Message("user", asked))
    return Prompt(messages, question.search_text, context, language=question.language)


def latest(history: Sequence[Message]) -> list[Message]:
    """Return the newest messages within both limits, oldest first, without a client's system messages.

    Answers lose their citations, because the same numbers now mean other passages.
    """
    messages = [
        replace(message, content=without_numbers(message.content)) if message.role == "assistant" else message
        for message in history
        if message.role != "system"
    ]
    kept: list[Message] = []
    tokens = 0
    for message in reversed(messages):
        tokens += estimate_tokens(message.content)
        if len(kept) == HISTORY_MESSAGES or tokens > HISTORY_TOKENS:
            break
        kept.append(message)
    return kept[::-1]


def not_found(scope: ScopeSummary, closest: Sequence[SearchHit], say: Say = in_english) -> str:
    """Return the text without an answer: the scope of the search and the closest passages."""
    where = escape_markdown(describe(scope.scope, say)) + (
        f", {say('page {page}', page=scope.page)}" if scope.page else ""
    )
    text = say("The reports searched ({scope}) do not seem to answer this question.", scope=where)
    if closest:
        text += f"\n\n{say('The closest passages:')}\n"
    for hit in closest[:CLOSEST_SHOWN]:
        name = escape_markdown(", ".join(filter(None, [hit.chunk.title, hit.chunk.section])))
        text += f"\n- {name}"
        text += f" ({say('similarity {score}', score=f'{hit.score:.2f}')})" if hit.score else ""
    return text


def assemble(
    question: Question,
    response: str,
    *,
    scope: ScopeSummary,
    context: Context = Context(),  # noqa: B008  # frozen and empty
    hits: Sequence[SearchHit] = (),
    threshold: Threshold | None = None,
    pipeline: tuple[Aggregation, ...] | None = None,
    steps: Sequence[StepTiming] = (),
    path: Sequence[StepEvent] = (),
    stopped_by: Stopper = "",
    truncated: bool = False,
    closest_only: bool = False,
) -> Answer:
    """Return the answer with its citations, numbered from 1 by appearance, and its trace."""
    response, context = in_order_of_appearance(response, context)
    checked = check(response, context, question)
    trace = Trace(
        mode=question.mode,
        retrieval_method=question.retrieval_method,
        query=question.search_text,
        threshold=threshold,
        hits=tuple(hits),
        steps=tuple(steps),
        path=tuple(path),
        stopped_by=stopped_by,
        truncated=truncated,
        closest_only=closest_only,
        pipeline=pipeline,
    )
    return Answer(
        response=response,
        answered=checked.answered,
        citations=checked.citations,
        scope=scope,
        trace=trace,
        unsupported=checked.unsupported,
        marks=checked.marks,
        figures=cited_figures(checked.citations),
    )


@dataclass(frozen=True, slots=True)
class Written:
    """An answer's text and the passages that the model had, against which its citations are checked.

    ``steps``: a "shorten" for each prompt that was too long, then "generate".
    """

    text: str
    context: Context
    steps: tuple[StepTiming, ...]
    truncated: bool = False


@dataclass(slots=True)
class Draft:
    """The latest attempt at an answer, while it is written and after a failure."""

    reply: Reply | None = None
    steps: list[StepTiming] = field(default_factory=list)
    path: list[StepEvent] = field(default_factory=list)
    """The steps so far, as the trace shows them."""

    @property
    def text(self) -> str:
        """The text so far without the model's thoughts."""
        return without_thoughts(self.reply.text) if self.reply else ""


def write(
    model: ChatModel,
    question: Question,
    context: Context,
    request: RequestContext,
    *,
    prompt: Callable[[Question, Context], Prompt],
    draft: Draft,
) -> Generator[StepEvent | TokenEvent, None, Written]:
    """Make one generation call. Repeat a prompt that is too long with the better half of its passages.

    ``draft`` has the attempt, also after a failure.

    Raises:
        ContextLengthError: still too long with one passage, or after three more attempts.
        ChatModelError: the model failed.
    """
    steps = draft.steps
    while True:
        started, sent = time.perf_counter(), prompt(question, context)
        draft.reply = reply = Reply(sent)
        try:
            done = yield from completion(model, sent, request, reply)
        except ChatModelError as error:
            failed = reply.usage_of_failed(error)
            keep = (len(context.passages) + 1) // 2
            hopeless = keep == len(context.passages) or len(steps) == MAX_SHORTENINGS
            if hopeless or not isinstance(error, ContextLengthError):
                steps.append(StepTiming.since("generate", started, failed))
                raise
            steps.append(StepTiming.since("shorten", started, failed))
            context = keep_best(context, keep)
            detail = f"Too much for the model: once more with the best {keep} of the passages"
            draft.path.append(StepEvent("shorten", detail))
            yield draft.path[-1]
            continue
        steps.append(StepTiming.since("generate", started, done.usage))
        text = unify_brackets(done.text, [passage.number for passage in context.passages])
        return Written(text, context, tuple(steps), done.truncated)

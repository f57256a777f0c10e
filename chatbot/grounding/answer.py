"""From passages to an answer, for every agent: the prompt, the writing, the honest "not found", the whole result."""

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
"""What happens where nothing is found: say so, go on with what is closest, or let the model say what it knows."""
CLOSEST_SHOWN = 3
CONTEXT_HEADING = "Relevant knowledge base context:"
HISTORY_MESSAGES = 10
HISTORY_TOKENS = 1500
"""How much of the conversation goes into a prompt, besides the question: the latest messages that fit both."""
SHORTENED_AT_MOST = 3


def prompt_for(
    question: Question, context: Context, *, rules: str = "answer_system", asked: str = "answer_user", **values: str
) -> Prompt:
    """The prompt of an answer from passages: rules, history, then passages, scope and question.

    Names from documents (a scope may hold some) never stand in the system message. ``values`` are those of the
    template ``asked`` besides passages, scope, day and question.
    """
    text = render(asked, passages=_rendered(context), **_asked(question), **values)
    return _prompt(question, render(rules, figures=render("figures")), text, context)


def as_set(prompt: Prompt, settings: QuerySettings) -> Prompt:
    """Put SYSTEM_PROMPT before the rules (R-E7), and the passages where the settings want them.

    CONTEXT_ROLE=system: the passages stand at the end of the system message (R-E2, R-E4), still marked as quoted.
    """
    rules, *said, asked = prompt.messages
    parts = [settings.system_prompt, rules.content] if settings.system_prompt else [rules.content]
    if settings.context_role == "system" or not settings.context_metadata:
        text, shown = _rendered(prompt.context), _rendered(prompt.context, metadata=settings.context_metadata)
        if settings.context_role == "system" and text:
            parts += [CONTEXT_HEADING, PASSAGE.sub(r"[\1]\n", shown)]
            shown = ""
        asked = replace(asked, content=asked.content.replace(text, shown, 1).strip())
    return replace(prompt, messages=(replace(rules, content="\n\n".join(parts)), *said, asked))


def _rendered(context: Context, *, metadata: bool = True) -> str:
    return "\n\n".join(render_passage(passage, metadata=metadata) for passage in in_prompt_order(context))


def general_prompt(question: Question) -> Prompt:
    """The prompt of ON_EMPTY=general: no passages, and the model has to say so."""
    return _prompt(question, render("general_system"), render("general_user", **_asked(question)), Context())


def _asked(question: Question) -> dict[str, str]:
    """What every prompt of an answer says besides its passages."""
    attached = "; ".join(on_one_line(document.name) for document in question.attachments)
    scope = f"only what is attached to the question: {attached}" if attached else describe(question.scope)
    return {"scope": scope, "today": question.today.isoformat(), "question": question.query}


def _prompt(question: Question, rules: str, asked: str, context: Context) -> Prompt:
    messages = (Message("system", rules), *latest(question.history), Message("user", asked))
    return Prompt(messages, question.search_text, context, language=question.language)


def latest(history: Sequence[Message]) -> list[Message]:
    """The newest messages within both bounds, oldest first. A client's system messages are not ours to repeat.

    Answers go without their citations: the same numbers stand for other passages now.
    """
    said = [
        replace(message, content=without_numbers(message.content)) if message.role == "assistant" else message
        for message in history
        if message.role != "system"
    ]
    kept: list[Message] = []
    tokens = 0
    for message in reversed(said):
        tokens += estimate_tokens(message.content)
        if len(kept) == HISTORY_MESSAGES or tokens > HISTORY_TOKENS:
            break
        kept.append(message)
    return kept[::-1]


def not_found(scope: ScopeSummary, closest: Sequence[SearchHit], say: Say = in_english) -> str:
    """What is said instead of an invented answer: where was searched, and what came closest."""
    where = escape_markdown(describe(scope.scope, say)) + (
        f", {say('page {page}', page=scope.page)}" if scope.page else ""
    )
    text = say("The reports searched ({scope}) do not seem to answer this question.", scope=where)
    if closest:
        lines = [f"- {_named(hit, say)}" for hit in closest[:CLOSEST_SHOWN]]
        text += "\n\n".join(["", say("The closest passages:"), "\n".join(lines)])
    return text


def _named(hit: SearchHit, say: Say) -> str:
    name = escape_markdown(", ".join(filter(None, [hit.chunk.title, hit.chunk.section])))
    return name + (f" ({say('similarity {score}', score=f'{hit.score:.2f}')})" if hit.score else "")


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
    """The answer with its citations, numbered from 1 as they appear, and its trace."""
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
    """An answer's text, and the passages that the model had for it: its citations are checked against these.

    ``steps`` has a "shorten" for each time the model refused the prompt, and "generate".
    """

    text: str
    context: Context
    steps: tuple[StepTiming, ...]
    truncated: bool = False


@dataclass(slots=True)
class Draft:
    """What there is of an answer while it is written, and of one that failed: the latest try."""

    reply: Reply | None = None
    steps: list[StepTiming] = field(default_factory=list)
    path: list[StepEvent] = field(default_factory=list)
    """The steps so far, as the trace shows them."""

    @property
    def text(self) -> str:
        """What was written so far, without the model's thoughts."""
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
    """One generation call. A prompt that is too long is tried again with the better half of its passages.

    ``draft`` holds what there is of it where it fails.

    Raises:
        ContextLengthError: still too long with one passage, or after three tries more.
        ChatModelError: the model failed.
    """
    steps = draft.steps
    while True:
        started, asked = time.perf_counter(), prompt(question, context)
        draft.reply = reply = Reply(asked)
        try:
            done = yield from completion(model, asked, request, reply)
        except ChatModelError as error:
            failed = reply.usage_of_failed(error)
            keep = (len(context.passages) + 1) // 2
            hopeless = keep == len(context.passages) or len(steps) == SHORTENED_AT_MOST
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

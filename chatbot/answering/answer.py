"""Answers from passages, for every mode: the prompt, the "not found" text and the
result.
"""

from collections.abc import Sequence
from dataclasses import replace

from ..checking.citations import check, cite
from ..checking.references import tidy
from ..checking.wording import in_order_of_appearance, without_numbers
from ..domain import Context, SearchHit
from ..domain.chat import (
    Answer,
    AnswerCard,
    Message,
    Prompt,
    QuerySettings,
    Question,
    ScopeSummary,
    Trace,
)
from ..domain.documents import ATTACHMENTS
from ..domain.figures import GlossaryEntry, newest_marked
from ..language.counts import count_of, estimate_tokens
from ..language.markdown import escape_markdown
from ..language.reported_figures import figures_of
from ..language.words import Say, in_english
from ..models.prompts import PASSAGE, on_one_line, render
from ..models.replies.ending import Ending
from ..search.scope import describe
from .answer_card import MOST_CITED_FIGURES, numbered_card, stated_card
from .context import in_prompt_order, render_passage

CLOSEST_SHOWN = 3
GENERAL = (
    "The reports hold nothing on this; the following is general knowledge without "
    "sources."
)
"""Stands above what a model says without passages, whether or not the model says so,
too.
"""
NOTHING = "Nothing was found."
CONTEXT_HEADING = "Relevant knowledge base context:"
HISTORY_MESSAGES = 10
HISTORY_TOKENS = 1500
"""Limits of the latest messages in a prompt, besides the question."""


def prompt_for(
    question: Question,
    context: Context,
    *,
    rules: str = "answer_system",
    template: str = "answer_user",
    **values: str,
) -> Prompt:
    """Return the prompt of an answer from passages: rules, history, then passages,
    scope and question. SYSTEM_PROMPT stands before the rules (R-E7). With
    CONTEXT_ROLE=system the passages end the system message (R-E2, R-E4), still marked
    as quoted; other names from documents, such as those in a scope, are never in it.
    ``values``: those of the user message's ``template`` besides passages, scope, day
    and question.
    """
    settings = question.settings or QuerySettings()
    attached = "; ".join(
        on_one_line(document.name) for document in question.attachments
    )
    where, query = describe(question.scope), question.query
    if attached:
        only = all(
            passage.hit.chunk.collection == ATTACHMENTS for passage in context.passages
        )
        where = (
            f"only what is attached to the question: {attached}"
            if only
            else f"{where}, and attached: {attached}"
        )
    elif context.reports:
        where += (
            f" ({count_of(context.reports, 'report')}, of which the passages are a "
            "selection)"
        )
    if question.standalone and question.standalone != question.query:
        query += f"\nIn full: {on_one_line(question.standalone)}"
    ordered = context.passages if settings.plain else in_prompt_order(context)
    passages = "\n\n".join(
        render_passage(
            passage,
            metadata=settings.context_metadata,
            is_labelled=settings.plain,
        )
        for passage in ordered
    )
    parts = [settings.system_prompt, render(rules, figures=render("figures"))]
    if settings.context_role == "system" and passages:
        parts += [CONTEXT_HEADING, PASSAGE.sub(r"[\1]\n", passages)]
        passages = ""
    system = Message("system", "\n\n".join(filter(None, parts)))
    today = question.today.isoformat()
    text = render(
        template, passages=passages, scope=where, today=today, question=query, **values
    )
    messages = (system, *latest(question.history), Message("user", text))
    return Prompt(messages, question.search_text, context, language=question.language)


def with_note(prompt: Prompt, note: str) -> Prompt:
    """Return a prompt whose last message ends with a note of this program on what the
    reports lack.
    """
    if not note:
        return prompt
    *before, last = prompt.messages
    content = f"{last.content}\nNote: {on_one_line(note)}"
    return replace(prompt, messages=(*before, replace(last, content=content)))


def general_prompt(question: Question) -> Prompt:
    """Return the prompt of ON_EMPTY=general, without passages; `GENERAL` stands above
    the reply.
    """
    return prompt_for(
        question, Context(), rules="general_system", template="general_user"
    )


def latest(history: Sequence[Message]) -> list[Message]:
    """Return the newest messages within both limits, oldest first, without a client's
    system messages. Answers lose their citations, because the same numbers now mean
    other passages.
    """
    kept: list[Message] = []
    tokens = 0
    for message in reversed(history):
        if message.role == "system":
            continue
        content = (
            without_numbers(message.content)
            if message.role == "assistant"
            else message.content
        )
        tokens += estimate_tokens(content)
        if len(kept) == HISTORY_MESSAGES or tokens > HISTORY_TOKENS:
            break
        kept.append(replace(message, content=content))
    return kept[::-1]


def not_found(
    scope: ScopeSummary, closest: Sequence[SearchHit], say: Say = in_english
) -> str:
    """Return the text without an answer: the scope of the search and the closest
    passages.
    """
    where = escape_markdown(describe(scope.scope, say)) + (
        f", {say('page {page}', page=scope.page)}" if scope.page else ""
    )
    text = say(
        "The reports searched ({scope}) do not seem to answer this question.",
        scope=where,
    )
    if closest:
        text += f"\n\n{closest_passages(closest, say)}"
    return text


def closest_passages(closest: Sequence[SearchHit], say: Say) -> str:
    """Return a list of the passages that came closest, at least one."""
    text = f"{say('The closest passages:')}\n"
    for hit in closest[:CLOSEST_SHOWN]:
        name = escape_markdown(
            ", ".join(filter(None, [hit.chunk.title, hit.chunk.section]))
        )
        text += f"\n- {name}"
        text += (
            f" ({say('similarity {score}', score=f'{hit.score:.2f}')})"
            if hit.score
            else ""
        )
    return text


def assemble(
    question: Question,
    response: str,
    *,
    scope: ScopeSummary,
    trace: Trace,
    context: Context = Context(),  # noqa: B008  # frozen and empty
    glossary: Sequence[GlossaryEntry] = (),
    is_closest: bool = False,
    is_quoted: bool = False,
    shown: Sequence[int] = (),
    ending: Ending | None = None,
    card: AnswerCard | None = None,
) -> Answer:
    """Return the answer with its citations, numbered from 1 by appearance. Whether it
    answers is the model's word (``ending``), where it gives one, and at least one
    passage bears it.

    ``is_closest``: a model was told that the passages are only the closest. If it says
    first that they do not answer, what follows is no answer. ``is_quoted``: see `cite`.
    ``shown``: see `in_order_of_appearance`. ``card``: the figures of a table that is
    the answer; None = those that the response states.
    """
    if not is_quoted:
        response = tidy(response, context)
    response, context = in_order_of_appearance(response, context, shown)
    checked = (
        cite(response, context)
        if is_quoted
        else check(response, context, question, glossary)
    )
    figures = [
        replace(each, citation=one.number)
        for one in checked.citations
        for each in figures_of(one.hit.chunk)
    ]
    if card is None:
        shown_card = stated_card(response, figures, checked.citations)
    else:
        shown_card = numbered_card(card, checked.citations)
    answered = checked.answered and not (checked.abstains and is_closest)
    if ending is not None:
        answered = ending.answered and bool(checked.citations or checked.answered)
    return Answer(
        response=response,
        answered=answered,
        missing=ending.missing if ending is not None else (),
        citations=checked.citations,
        scope=scope,
        trace=trace,
        unsupported=checked.unsupported,
        marks=checked.marks,
        figures=tuple(newest_marked(figures)[:MOST_CITED_FIGURES]),
        card=shown_card,
    )

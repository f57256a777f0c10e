"""What a language model that plans is told and shown, for one question: one run of
messages to which each round is added, so that a provider can cache their beginning.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..domain import Context, Message, Passage, Prompt, SearchHit
from ..domain.chat import Question
from ..domain.errors import read_table
from ..domain.figure_query import FigureAnswer
from ..domain.figures import Indicators
from ..domain.protocols import Catalog, Passages
from ..domain.scope import Scope
from ..language.counts import estimate_tokens, estimate_tokens_of
from ..models.prompts import new_mark, on_one_line, render
from ..questions.reading import COUNTRY
from ..search.scope import describe, inventory
from .answer import latest
from .context import build_context, render_by_report
from .tools.calls import (
    NO_PLAN,
    TOOLS,
    TOOLS_AS_SENT,
    Plan,
    as_json_in_words,
    plan_shape,
)
from .turn import alternate

_BOUNDS = read_table(__package__, "planner")
MAX_ROUNDS = int(_BOUNDS["rounds"]["value"])
MAX_PASSAGES = int(_BOUNDS["passages"]["value"])
_DEEP_MODES = ("deep", "report")
_CITED = re.compile(r"\[(\d+)\]")
_WANTED_MORE = "Call what is still needed, or answer."
_WANTED_ANSWER = "Write the answer now, in the language of the question."
_WANTED_TABLE = (
    "Write a Markdown table now: a column for each side that is compared, a row for "
    "each aspect, in every cell a short statement with its numbers, — where the "
    "passages do not say it. Below the table say in a few sentences how the sides "
    "differ. Write in the language of the question."
)
_NOTHING = "Nothing was found."
_NOTHING_NEW = "Nothing was found that is not above."
_HINT = "Noticed by its names alone, perhaps beside the question:"
_LIBRARY = "The library (names, no instructions):"
_READY = "I am ready for the question."
COMPUTED = "Computed by the program; the numbers in brackets are those of passages:"


@dataclass(slots=True, kw_only=True)
class Dialogue:
    """``fixed_tokens``: of what stands first and is the same in each question.
    ``passages``: all that were chosen, under their numbers, of which the messages
    have the first ``said``; ``tables``: all that were computed, of which they have the
    first ``said_tables``. ``found``: what each search of the last plan found, best
    first. ``problems`` are said with the next ones. ``bare``: the ids of passages whose
    text a table has.
    """

    messages: list[Message]
    question: Question
    takes_tools: bool
    fixed_tokens: int
    plan: Plan = NO_PLAN
    rounds: int = 0
    mark: str = field(default_factory=new_mark)
    found: list[Sequence[SearchHit]] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)
    said: int = 0
    bare: set[str] = field(default_factory=set)
    tables: list[str] = field(default_factory=list)
    said_tables: int = 0
    computed: set[str] = field(default_factory=set)
    """The indicators of the tables."""
    problems: list[str] = field(default_factory=list)
    """What the calls could not do, for the model."""
    needs_round: bool = False
    """True if a call of the plan failed, which the model may make otherwise."""

    @property
    def wants_round(self) -> bool:
        """True if the model is asked what else it needs before it writes: where it
        wants to see what was found, and in the modes of several rounds once in any
        case, unless it has enough.
        """
        settings = self.question.settings
        assert settings is not None, "the flow sets them"
        most = None
        if self.question.mode == "chain":
            most = settings.chain_rounds
        elif self.question.mode in _DEEP_MODES:
            most = settings.deep_rounds
        if self.rounds >= (most or MAX_ROUNDS):
            return False
        is_first = most is not None and self.rounds == 1
        is_open = is_first and not self.plan.is_enough
        return is_open or self.plan.more or self.needs_round

    def planning_prompt(self) -> Prompt:
        """Return the prompt for the next plan."""
        return self._prompt(self.messages, is_plan=True)

    def choose(self, store: Passages) -> None:
        """Choose passages of what the last plan found, the best of each search in turn,
        as far as they fit: what an earlier one left over, the model has not asked for
        again.
        """
        known = {passage.hit.chunk.id for passage in self.passages}
        hits: list[SearchHit] = []
        for hit in alternate(self.found):
            if hit.chunk.id not in known:
                known.add(hit.chunk.id)
                hits.append(hit)
        self.found.clear()
        left = self._budget() - estimate_tokens(self._shown(self.passages))
        if not hits or (left <= 0 and self.passages):
            return
        section = int(_BOUNDS["section_characters"]["value"])
        context = build_context(hits, store, budget_tokens=left, section=section)
        for passage in context.passages:
            self._add(passage)

    def add_table(self, table: FigureAnswer) -> None:
        """Add a table of figures, under the numbers of the passages that it cites."""
        text = _cut(table.text)
        cited = {int(number) for number in _CITED.findall(text)}
        sources = [source for source in table.citations if source.number in cited]
        numbers = {one.hit.chunk.id: one.number for one in self.passages}
        is_long = len(sources) > _BOUNDS["figure_passages"]["value"]
        for source in sources:
            chunk = source.chunk
            if chunk.id in numbers:
                continue
            hit = SearchHit(chunk, found_by=("figures",))
            numbers[chunk.id] = self._add(Passage(0, hit, chunk.text))
            if is_long:
                self.bare.add(chunk.id)
        by_number = {source.number: numbers[source.chunk.id] for source in sources}
        self.tables.append(with_numbers(text, by_number))

    def _add(self, passage: Passage) -> int:
        """Add a passage under the next number, and return it."""
        number = len(self.passages) + 1
        hit = replace(passage.hit, rank=number)
        self.passages.append(replace(passage, number=number, hit=hit))
        return number

    def _shown(self, passages: Sequence[Passage]) -> str:
        return render_by_report(passages, self.bare)

    def say_what_was_found(self) -> None:
        """Add the plan and what it found to the messages, and ask for the next one."""
        self.messages += self._round(self.passages[self.said :], _WANTED_MORE)
        self.said = len(self.passages)
        self.said_tables = len(self.tables)
        self.problems.clear()

    def answer_prompt(self, numbers: Collection[int]) -> Prompt:
        """Return the prompt for the answer, with these of the passages that were not
        said before.
        """
        shown = []
        for passage in self.passages[self.said :]:
            if passage.number in numbers:
                shown.append(passage)
        wanted = _WANTED_ANSWER
        if self.question.mode == "compare":
            wanted = _WANTED_TABLE
        return self._prompt([*self.messages, *self._round(shown, wanted)])

    def _budget(self) -> int:
        """Return the tokens of passages that a question may have by now: all where it
        has parts, but a share of them where another round may need some.
        """
        settings = self.question.settings
        assert settings is not None, "the flow sets them"
        tokens = settings.context_tokens
        if self.question.mode in _DEEP_MODES:
            tokens = settings.deep_context_tokens
        has_parts = len(self.plan.calls) > 1 or len(self.plan.queries) > 1
        goes_on = self.plan.more or self.question.mode in ("chain", *_DEEP_MODES)
        if self.said or (has_parts and not goes_on):
            return tokens
        return int(tokens * _BOUNDS["one_list_share"]["value"])

    def _round(self, shown: Sequence[Passage], wanted: str) -> list[Message]:
        """Return the messages of one plan and of what it found."""
        found = [f"{COMPUTED}\n{table}" for table in self.tables[self.said_tables :]]
        if shown:
            found.insert(0, self._shown(shown))
        elif not found and not self.plan.is_enough:
            found = [_NOTHING_NEW if self.said else _NOTHING]
        problems = [f"Note: {on_one_line(problem)}" for problem in self.problems]
        text = "\n".join([*problems, wanted])
        if found:
            text = render("found_user", passages="\n\n".join(found), notes=text)
        return [Message("assistant", self.plan.text), Message("user", text)]

    def _prompt(self, messages: Sequence[Message], *, is_plan: bool = False) -> Prompt:
        shape = plan_shape(takes_tools=self.takes_tools)
        told = list(messages)
        if is_plan and not self.takes_tools:
            last = told[-1]
            content = f"{last.content}\n{as_json_in_words()}"
            told[-1] = replace(last, content=content)
        context = Context(tuple(self.passages))
        return Prompt(
            tuple(told),
            self.question.search_text,
            context,
            json_schema=shape.schema if is_plan else None,
            language=self.question.language,
            is_plan=is_plan,
            tools=TOOLS if self.takes_tools else (),
            mark=self.mark,
            fixed_tokens=self.fixed_tokens,
        )


def begin(
    question: Question,
    catalog: Catalog,
    indicators: Indicators,
    *,
    hints: Sequence[str],
    takes_tools: bool,
) -> Dialogue:
    """Return the dialogue before its first plan: what is fixed, the conversation, the
    question. ``hints``: what rules have read in the question.
    """
    settings = question.settings
    assert settings is not None, "the flow sets them"
    quoted = render("quoted_beside")
    rules = render("answer_system", figures=render("figures"), quoted=quoted)
    listed = library(catalog, indicators, question.scope.widest())
    fixed = [settings.system_prompt, rules, render("tools_system")]
    asked = render(
        "tools_user",
        scope=describe(question.scope),
        today=question.today.isoformat(),
        hints="".join(f"{_HINT} {on_one_line(hint)}\n" for hint in hints),
        question=question.query,
    )
    beginning = [
        Message("system", "\n\n".join(filter(None, fixed))),
        # Names from documents are never in the system message, and roles take turns.
        Message("user", f"{_LIBRARY}\n{listed}"),
        Message("assistant", _READY),
    ]
    fixed_texts = [message.content for message in beginning]
    if takes_tools:
        fixed_texts.append(TOOLS_AS_SENT)
    return Dialogue(
        messages=[*beginning, *latest(question.history), Message("user", asked)],
        question=question,
        takes_tools=takes_tools,
        fixed_tokens=estimate_tokens_of(fixed_texts),
    )


def library(catalog: Catalog, indicators: Indicators, scope: Scope) -> str:
    """Return what a library has, in at most as many tokens as `planner.toml` says:
    countries and editions, documents of no country, indicators, those of most
    countries first.
    """
    left = int(_BOUNDS["inventory_tokens"]["value"])
    lines = [inventory(catalog, scope)]
    left -= estimate_tokens(lines[0])
    untagged = []
    for record in catalog.all(scope):
        if COUNTRY not in record.metadata:
            untagged.append(on_one_line(record.title))
    documents = _as_many(untagged, left // 2)
    if documents:
        lines.append(f"Documents of no country: {'; '.join(documents)}")
        left -= estimate_tokens(lines[-1])
    counts = {name: max(labels.values()) for name, labels in indicators.items()}
    ordered = sorted(counts, key=lambda name: (-counts[name], name))
    named = _as_many([on_one_line(name) for name in ordered], left)
    if named:
        lines.append(f"Figures: {'; '.join(named)}")
        others = len(ordered) - len(named)
        if others:
            lines[-1] += f"; and {others} others, by their headings in the reports"
    parts = _as_many(_parts_of(indicators, ordered), int(_BOUNDS["parts"]["value"]))
    if parts:
        lines.append(f"Parts of figures (name: part): {'; '.join(parts)}")
    return "\n".join(lines)


def _parts_of(indicators: Indicators, names: Sequence[str]) -> list[str]:
    """Return the parts of each indicator that a query may name: of those that have few,
    the ones that most of its reports have.
    """
    listed: list[str] = []
    for name in names:
        labels = indicators[name]
        usual = max(labels.values()) / 2
        parts = [label for label, count in labels.items() if label and count >= usual]
        if 1 < len(parts) <= _BOUNDS["parts_listed"]["value"]:
            listed.append(on_one_line(f"{name}: {', '.join(parts)}"))
    return listed


def _as_many(names: Sequence[str], tokens: int) -> list[str]:
    """Return the first names, as many as fit."""
    kept: list[str] = []
    for name in names:
        tokens -= estimate_tokens(f"{name}; ")
        if tokens < 0:
            break
        kept.append(name)
    return kept


def _cut(text: str) -> str:
    """Return the lines of a table that may be shown, and how many were left out."""
    most = int(_BOUNDS["table_characters"]["value"])
    if len(text) <= most:
        return text
    kept = text[:most].rpartition("\n")[0]
    return f"{kept}\n(and more rows)"


def with_numbers(text: str, numbers: Mapping[int, int]) -> str:
    """Return a text with new numbers in its citations, without those that have none."""

    def renumbered(match: re.Match[str]) -> str:
        new = numbers.get(int(match[1]))
        if new:
            return f"[{new}]"
        return ""

    return _CITED.sub(renumbered, text)

"""Find which passages an answer cites, and which clauses their passages do not support.

A deterministic check of each clause against the passages of its own [n]: figures with
their units and years, dates, quotations, the countries it names and the speakers it
quotes (`clause_checks`). Where a clause repeats a sentence of its passages, every
difference that changes the meaning counts (`contradictions`). A figure that is rounded,
converted or calculated from cited figures is supported. In doubt nothing is marked.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from ..domain import Citation, Context, Passage, Question
from ..domain.chat import Mark, Unsupported
from ..domain.figures import GlossaryEntry
from ..language.analysis import analyzer
from ..language.characters import lowered
from ..language.figures import comma_decimals
from ..language.sentences import sentences
from ..language.statements import statements
from .amounts import Amount, HeadingUnit, amounts
from .calculations import MAX_CELLS
from .clause_checks import ClauseChecker
from .clauses import Clause, clauses, marks_in
from .columns import CellPlace, CheckedCells, check_cells
from .contradictions import Defect
from .evidence import Evidence, Sentence, evidence_of, is_supported
from .foreign import Foreign, headings_of
from .wording import (
    cited_numbers,
    is_quoted,
    normalise,
    pattern,
    quotations,
    unify_brackets,
    without_numbers,
)

_ABSTAINS = pattern(r"\b{abstains}(?!\w)")
_SUM = pattern("{sums}")
SNIPPET_CHARACTERS = 400
MAX_CHECKED_CHARACTERS = 50_000
"""A longer passage is not read as evidence, and an answer is checked up to here."""


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """``citations``: one for each number in the answer that belongs to a passage, in
    order of appearance.

    ``unsupported``: clauses that state what their passages do not have or contradict,
    that cite an unknown number, or that give a figure or a name without a source;
    ``marks``: where these are. A citation is supported unless only such clauses have
    it. ``answered``: a sentence states something from the passages, and not
    that they say nothing. ``abstains``: the first one says that.
    """

    citations: tuple[Citation, ...]
    unsupported: tuple[Unsupported, ...]
    marks: tuple[Mark, ...]
    answered: bool
    abstains: bool


def check(
    response: str,
    context: Context,
    question: Question | None = None,
    glossary: Sequence[GlossaryEntry] = (),
) -> CheckedAnswer:
    """Return the answer's citations and what its passages do not support. The answer
    may repeat what the question itself says: its scope's years, "top 5", a quoted name.
    The ``glossary`` has the headings of the reports and other words for them.
    """
    passages = {passage.number: passage for passage in context.passages}
    response = unify_brackets(response, passages)
    cited = [number for number in cited_numbers(response) if number in passages]
    in_order: list[Clause] = []
    if passages:
        in_order = list(clauses(_beginning(response)))
    evidence = {
        number: evidence_of(passages[number])
        for number in cited
        if _is_readable(passages[number])
    }
    is_silent = cache(_says_nothing)
    headings = headings_of(tuple(glossary))
    foreign = Foreign(evidence, question, response, headings)
    cells = _cells_of(in_order, evidence, comma=comma_decimals(response))
    checker = ClauseChecker(
        foreign, question, response, is_silent, cells, list(_computed(context))
    )
    unread = {*cited} - {*evidence}
    # Some answers say the same again and again.
    check_once = cache(checker.check)
    lacking_clauses: list[tuple[Clause, tuple[Unsupported, list[Defect]]]] = []
    for clause in in_order:
        found = check_once(clause) if unread.isdisjoint(clause.beside) else None
        if found is not None:
            lacking_clauses.append((clause, found))
    unsupported: list[Unsupported] = []
    findings: list[tuple[Clause, Defect]] = []
    for clause, found in lacking_clauses:
        last = checker.check_lead(clause, found)
        if last is None:
            continue
        lacking, defects = last
        unsupported.append(lacking)
        findings += [(clause, defect) for defect in defects]
    doubtful = _doubtful_numbers(in_order, unsupported, findings)
    words = _words_of_numbers(in_order)
    citations = [
        _citation(passages[n], words.get(n, ""), is_supported=n not in doubtful)
        for n in cited
    ]
    return CheckedAnswer(
        tuple(citations),
        tuple(unsupported),
        marks_in(response, findings),
        answered=_is_answered(in_order, passages.values(), is_silent),
        abstains=bool(in_order and is_silent(in_order[0].words)),
    )


def _computed(context: Context) -> Iterator[Amount]:
    """Yield the figures of the program's own tables that no passage has: counts of what
    they list, differences, means.
    """
    shown = "\n".join(passage.hit.chunk.text for passage in context.passages)
    for line in "\n".join(context.computed).splitlines():
        for sentence in sentences(line):
            is_cited = bool(cited_numbers(sentence))
            for amount in amounts(without_numbers(sentence), comma=False):
                is_copied = is_cited and amount.figure.text in shown
                if not is_copied and not amount.figure.year:
                    yield amount


def _says_nothing(words: str) -> bool:
    """Return whether the words of a clause say that the passages have nothing."""
    return _ABSTAINS.search(lowered(words)) is not None


def _doubtful_numbers(
    in_order: Iterable[Clause],
    unsupported: Iterable[Unsupported],
    findings: Iterable[tuple[Clause, Defect]],
) -> set[int]:
    """Return the numbers of passages that clauses cite for what they do not have, and
    no right clause cites.
    """
    marked = {clause for clause, _ in findings}
    doubtful: set[int] = set()
    for lacking in unsupported:
        if lacking.lacking:
            doubtful.update(lacking.numbers)
    for clause in in_order:
        if clause not in marked:
            doubtful.difference_update(clause.numbers)
    return doubtful


def _words_of_numbers(in_order: Iterable[Clause]) -> dict[int, str]:
    """Return the words of the first clause that cites each passage."""
    words: dict[int, str] = {}
    for clause in in_order:
        for number in clause.numbers:
            words.setdefault(number, clause.words)
    return words


def cite(response: str, context: Context) -> CheckedAnswer:
    """Return the citations of a text that a program made of its passages, such as
    quotations and tables of figures. What they say is not checked: it is theirs.
    """
    words = {
        number: line
        for line in reversed(response.splitlines())
        for number in cited_numbers(line)
    }
    passages = {passage.number: passage for passage in context.passages}
    cited = tuple(
        _citation(passages[n], words.get(n, ""))
        for n in cited_numbers(response)
        if n in passages
    )
    return CheckedAnswer(cited, (), (), answered=bool(cited), abstains=False)


def _citation(passage: Passage, words: str, *, is_supported: bool = True) -> Citation:
    text = passage.hit.chunk.text
    return Citation(
        passage.number,
        passage.hit,
        section_of(passage, words),
        snippet_of(text),
        is_supported,
    )


def section_of(passage: Passage, words: str) -> str:
    """Return the heading of the sentence that these words are taken from, since a
    passage may span several. Return the passage's own section, with those above it, if
    that is the heading or the sentence cannot be told.
    """
    chunk = passage.hit.chunk
    paragraphs = chunk.text.split("\n\n")
    if not words or not any("\n" in paragraph for paragraph in paragraphs[1:]):
        return chunk.section
    candidates = statements(passage)
    if len({statement.heading for statement in candidates}) < 2:
        return chunk.section
    quoted = quotations(words)
    terms = analyzer("english").terms
    terms_of_words = set(terms(words))
    best = (0, 0)
    heading = candidates[0].heading
    for statement in candidates:
        text = normalise(statement.text)
        quotes = sum(is_quoted(quote, text) for quote in quoted)
        shared = terms_of_words.intersection(terms(statement.whole))
        if (quotes, len(shared)) > best:
            best = (quotes, len(shared))
            heading = statement.heading
    # A single shared word may be chance.
    is_told = best[0] > 0 or best[1] >= 2
    if is_told and heading != chunk.heading:
        return heading
    return chunk.section


def _beginning(response: str) -> str:
    """Return the lines, else sentences, of an answer within the limit."""
    text = response[:MAX_CHECKED_CHARACTERS]
    if text == response:
        return text
    return text[: max(text.rfind("\n"), text.rfind(". ") + 1, 0)]


def _cells_of(
    in_order: Iterable[Clause], evidence: Mapping[int, Evidence], *, comma: bool
) -> CheckedCells:
    """Check the cells of an answer that have one figure each."""
    everywhere = list(evidence.values())
    figures_of: dict[CellPlace, Amount] = {}
    copied: set[CellPlace] = set()
    sums: dict[CellPlace, bool] = {}
    scales = defaultdict[int, Decimal](lambda: Decimal(1))
    for clause in in_order:
        cell = clause.cell
        if cell is None or len(figures_of) == MAX_CELLS:
            continue
        value = _only_figure(clause, len(cell.headings), comma=comma)
        if value is None:
            continue
        place = CellPlace(*cell.place)
        if _SUM.fullmatch(lowered(cell.column)):
            sums[place] = False
        if _SUM.fullmatch(lowered(cell.row)):
            sums[place] = True
        figures_of[place] = value
        cited = [evidence[number] for number in clause.numbers if number in evidence]
        is_count = value.figure.bare and not value.measure
        if clause.unit is not None:
            scales[place.table] = max(clause.unit.scale, scales[place.table])
        # Any passage has some small number.
        if is_supported(value, cited if is_count else cited or everywhere):
            copied.add(place)
    for place in figures_of.keys() - copied:
        # A column that is computed may lack the scale of the others.
        unit = HeadingUnit("", Decimal(1), scales[place.table])
        figures_of[place] = unit.read(figures_of[place])
    return check_cells(figures_of, copied, sums)


def _only_figure(clause: Clause, start: int, *, comma: bool) -> Amount | None:
    """Return the figure of a cell from this place on, but for years; None where it has
    none or several.
    """
    figures = [
        amount
        for amount in clause.amounts(clause.words, comma=comma)
        if amount.figure.start >= start and not amount.figure.year
    ]
    if len(figures) != 1:
        return None
    return figures[0]


def _is_answered(
    in_order: Sequence[Clause],
    passages: Collection[Passage],
    is_silent: Callable[[str], bool],
) -> bool:
    """Return whether a sentence cites a passage and says more than "nothing found".
    Without any citation, a sentence that repeats a passage counts instead.
    """
    numbers = {passage.number for passage in passages}
    citing = [clause for clause in in_order if not numbers.isdisjoint(clause.numbers)]
    telling = [clause for clause in citing or in_order if not is_silent(clause.words)]
    if citing or not telling:
        return bool(telling)
    evidence = [evidence_of(passage) for passage in passages if _is_readable(passage)]
    return any(_repeats(clause, evidence) for clause in telling)


def _repeats(clause: Clause, evidence: Iterable[Evidence]) -> bool:
    """Return whether a clause has most words and all figures of a passage."""
    claimed = amounts(clause.words, comma=comma_decimals(clause.words))
    keys = Sentence(clause.words, claimed).keys
    for source in evidence:
        shared = len(keys & source.keys)
        # A sentence is taken from a passage that has half of its words.
        if shared < 2 or 2 * shared < len(keys):
            continue
        if all(is_supported(amount, [source]) for amount in claimed):
            return True
    return False


def _is_readable(passage: Passage) -> bool:
    """Return whether a passage is short enough to be read as evidence."""
    longest = max(len(passage.wider_text), len(passage.hit.chunk.text))
    return longest <= MAX_CHECKED_CHARACTERS


def snippet_of(text: str) -> str:
    """Return the beginning of a passage's text, as a citation shows it."""
    if len(text) <= SNIPPET_CHARACTERS:
        return text
    beginning = text[:SNIPPET_CHARACTERS].rsplit(" ", 1)[0]
    return f"{beginning} …"

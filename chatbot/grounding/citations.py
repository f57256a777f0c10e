"""Which passages an answer cites, and whether they bear what is said with them.

A deterministic check of each clause against the passages of its own [n]: figures with their units and years, dates,
quotations, the countries it names and whom it quotes; and where a clause repeats a sentence of them, every difference
that turns what is said (`contradictions`). What is rounded, converted or reckoned from cited figures is borne. In doubt
nothing is marked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import accumulate, groupby

from ..questions.names import find_countries
from ..schema import Citation, Context, Mark, MarkKind, Passage, Question, Range, Unsupported
from .amounts import MOST_TERMS, Amount, amounts, is_reckoned
from .claim_words import pattern, stem, stems
from .clauses import Clause, clauses, section_of
from .contradictions import Finding, contradicted
from .dates import Date, date_stands, dates
from .evidence import WORD, Evidence, Sentence, evidence_of
from .figures import comma_decimals, figures, unify_signs
from .marks import marks_in
from .wording import QUOTATION, cited_numbers, is_quoted, normalise, quotations, unify_brackets

_NAME = re.compile(r"[^\W\d_]-$")
"""COVID-19, F-16."""
_LETTER = re.compile(r"[^\W\d_]{2}")
_OF_REPORT = re.compile(r"\b(1\d{3}|20\d{2})(?: (?:report|edition)\b)", re.IGNORECASE)
_WHOM = r"(?:[Tt]he )?(?P<whom>[A-Z][\w.'’&-]*(?:(?: (?:of|for|the|and|on|de))* [A-Z][\w.'’&-]*)*)"
_ATTRIBUTED = (
    re.compile(rf"{pattern('(?i:{attributes})').pattern} {_WHOM}"),
    re.compile(rf"(?:^|[,;] ){_WHOM} (?:{pattern('(?i:{says})').pattern}) that\b"),
)
_ABSTAINS = pattern(r"\b{abstains}(?!\w)")
_NO_NAMES = stems("no_name")
_OF_LABELS = stems("small") | {stem("page")}
"""In what stands before a quotation, and of neither title nor heading: "page 7", "in 2021"."""
_NO_SPEAKERS = stems("no_speaker") | stems("stand_in")
SNIPPET_CHARACTERS = 400
SMALL = 100
"""Below it a number of the question ("the top 5") may be repeated without standing in a passage."""
LONGEST_READ = 50_000
"""Characters of a passage, and of an answer: neither what cites a longer one nor what stands behind is checked."""
SHORTEST_NAME = 3
"""Letters of a country's name; a code of two may be a word."""
TOLD = 0.5
"""Share of a sentence's words that a passage has, from which the sentence is taken from it."""


@dataclass(frozen=True, slots=True)
class Checked:
    """``citations``: one per number that occurs in the answer and belongs to a passage, in order of appearance.

    ``unsupported``: the clauses that say what the passages they cite do not have, or have otherwise, that cite a
    number which no passage has, or that give a figure or a name and no source; ``marks``: the places of what they lack.
    A citation is supported where no clause that lacks something has it. ``answered``: a sentence says something of the
    passages, and not that they do not.
    """

    citations: tuple[Citation, ...]
    unsupported: tuple[Unsupported, ...]
    marks: tuple[Mark, ...]
    answered: bool


def check(response: str, context: Context, question: Question | None = None) -> Checked:
    """What the answer cites, and what of it the passages do not bear.

    What the question itself says (its scope's years, "top 5", a quoted name) is not held against the answer.
    """
    passages = {passage.number: passage for passage in context.passages}
    response = unify_brackets(response, passages)
    cited = [number for number in cited_numbers(response) if number in passages]
    said = list(clauses(response)) if passages else []
    evidence = {number: evidence_of(passages[number]) for number in cited if _is_readable(passages[number])}
    judge = _Judge(evidence, {*cited} - {*evidence}, question, comma=comma_decimals(response))
    ends = accumulate(len(clause.text) for clause in said)
    checked = [clause for clause, end in zip(said, ends, strict=True) if end <= LONGEST_READ]
    unsupported = tuple(filter(None, map(judge.unsupported, checked)))
    doubtful = {number for clause in unsupported if clause.lacking for number in clause.numbers}
    citations = (
        Citation(number, one.hit, section_of(one, said), snippet_of(one.hit.chunk.text), number not in doubtful)
        for number in cited
        for one in [passages[number]]
    )
    marks = marks_in(response, judge.findings) if unsupported else ()
    return Checked(tuple(citations), unsupported, marks, _is_answered(said, context))


class _Judge:
    """``evidence`` by number. What the question says is given: names, years, small counts."""

    def __init__(
        self, evidence: dict[int, Evidence], unread: Collection[int], question: Question | None, *, comma: bool
    ) -> None:
        self._evidence = evidence
        self._unread = unread
        self._comma = comma
        self._given = _given(question) if question else frozenset[Decimal]()
        asked = f"{question.query}\n{question.search_text}" if question else ""
        scope = " ".join(map(str, question.scope.to_json().values())) if question else ""
        self._asked = normalise(asked)
        self.findings: list[tuple[Clause, Finding]] = []
        self._terms_of: dict[str, list[Amount]] = {}
        self._asked_countries = {key for country in find_countries(f"{asked} {scope}") for key in country.keys}

    def unsupported(self, clause: Clause) -> Unsupported | None:
        """What the clause lacks; None where it lacks nothing."""
        if not clause.numbers:
            if not self._needs_source(clause):
                return None
            self._note(clause, [Finding("no_source", "")])
            return Unsupported(clause.text, (), no_source=True)
        if any(number in self._unread for number in clause.beside):
            return None
        known = tuple(number for number in clause.numbers if number in self._evidence)
        unknown = tuple(number for number in clause.numbers if number not in self._evidence)
        cited = [self._evidence[number] for number in known]
        found = Unsupported(clause.text, known, unknown=unknown)
        self._note(clause, [Finding("unknown_citation", str(number)) for number in unknown])
        if cited:
            found = self._held(found, clause, cited)
        return found if found.lacking or unknown else None

    def _held(self, found: Unsupported, clause: Clause, cited: Sequence[Evidence]) -> Unsupported:
        quoted = quotations(clause.words)
        foreign = [q for q in quoted if not any(is_quoted(q, e.words) for e in cited) and not is_quoted(q, self._asked)]
        is_quotation = not foreign and (
            2 * sum(map(len, quoted)) > len(clause.words) or _is_labelled(clause.words, cited)
        )
        # A quotation has the decimal mark of its passage, whichever the rest of the answer has.
        said = amounts(clause.words, comma=cited[0].comma if is_quotation else self._comma)
        missing, borne = self._missing(clause, said, cited)
        lacking = [one.text for one in missing]
        names, turned = list[Finding](), list[Finding]()
        if not _ABSTAINS.search(clause.words):
            names = [Finding("name", text) for text in self._foreign_countries(clause)]
            names += [Finding("attribution", text) for text in _foreign_speakers(clause.words, cited)]
            turned = [] if is_quotation else contradicted(Sentence(clause.words, said), cited, borne=borne)
            turned = [one for one in turned if one.text not in lacking]
        self._note(clause, [*missing, *(Finding("quotation", text) for text in foreign), *names, *turned])
        return replace(
            found,
            figures=tuple(lacking),
            quotations=tuple(foreign),
            names=tuple(dict.fromkeys(one.text for one in names)),
            contradicted=tuple(dict.fromkeys(one.text for one in turned)),
        )

    def _note(self, clause: Clause, findings: Iterable[Finding]) -> None:
        self.findings += [(clause, one) for one in findings]

    def _missing(
        self, clause: Clause, said: Sequence[Amount], cited: Sequence[Evidence]
    ) -> tuple[list[Finding], frozenset[str]]:
        """Figures and dates that do not stand in the passages, and the amounts that do, as they are written."""
        words = clause.words
        whole = _whole_dates(words)
        dated = _places_of(whole)
        missing = [
            (span[0], Finding("year", words[span[0] : span[1]]))
            for span, readings in groupby(whole, key=lambda date: (date.start, date.end))
            if not _day_stands(list(readings), cited)
        ]
        borne = [one for one in said if _stands(one, cited)]
        exact, terms = frozenset(words[one.figure.start : one.end] for one in borne), self._terms(clause, borne, cited)
        missing += [
            (one.figure.start, Finding(_kind_of(one, cited), one.figure.text))
            for one in said
            if words[one.figure.start : one.end] not in exact
            and _is_claim(one, words, dated)
            and not (one.figure.bare and one.figure.values & self._given)
            and not any(is_reckoned(one, some, words) for some in terms)
        ]
        missing += [
            (match.start(), Finding("year", match[0]))
            for match in _OF_REPORT.finditer(words)
            if not any(Decimal(match[1]) in one.around for one in cited) and Decimal(match[1]) not in self._given
        ]
        return list({one.text: one for _, one in sorted(missing)}.values()), exact

    def _terms(self, clause: Clause, borne: list[Amount], cited: Sequence[Evidence]) -> Sequence[Sequence[Amount]]:
        """Amounts a figure may be reckoned from: the sentence's own, and those of what it is taken from."""
        if clause.sentence not in self._terms_of:
            own = borne
            if clause.sentence != clause.words:
                everywhere = list(self._evidence.values())
                own = [one for one in amounts(clause.sentence, comma=self._comma) if _stands(one, everywhere)]
            # One more than are reckoned with: a long list stays one, and is not read again for each of its figures.
            self._terms_of = {clause.sentence: [one for one in own if not one.figure.year][: MOST_TERMS + 1]}
        if len(own := self._terms_of[clause.sentence]) > 1:
            return [own]
        listed = [one.listed_with(amount) for one in cited for amount in own]
        return listed + [
            list(near.amounts) for one in cited for near in one.nearest(Sentence(clause.words, ()).keys, most=2)
        ]

    def _foreign_countries(self, clause: Clause) -> Iterator[str]:
        """The countries that none of the sentence's passages, nor the question, speaks of."""
        cited = [self._evidence[number] for number in clause.beside if number in self._evidence]
        for country in find_countries(clause.words):
            if country.taken_as or len(country.text.strip(".")) < SHORTEST_NAME:
                continue
            words = set(map(stem, WORD.findall(country.text)))
            named = (words <= one.keys or not one.countries.isdisjoint(country.keys) for one in cited)
            if self._asked_countries.isdisjoint(country.keys) and not any(named):
                yield country.text

    def _needs_source(self, clause: Clause) -> bool:
        """Whether a sentence without a [n] says something that would need one: a figure, or a name."""
        words = clause.words.strip()
        if words.endswith((":", "?")) or not _LETTER.search(words) or _ABSTAINS.search(words):
            return False
        said = amounts(words, comma=self._comma)
        if any(_is_claim(one, words) and not one.figure.values & self._given for one in said):
            return True
        tokens = (t for t in Sentence(words, said).tokens if t.is_capital and not t.is_first)
        return any(t.key not in _NO_NAMES and normalise(t.text) not in self._asked for t in tokens)


def _is_labelled(words: str, cited: Sequence[Evidence]) -> bool:
    """Whether a quotation stands behind nothing but the title and the heading that it is from."""
    label = QUOTATION.sub("", words).strip(" .,;")
    own = set(map(stem, WORD.findall(label))) - _OF_LABELS
    return label.endswith(":") and any(own <= one.about for one in cited)


def _whole_dates(words: str) -> list[Date]:
    """The dates in these words; of a month that is part of a dated day, only the day."""
    found = dates(words)
    days = _places_of(date for date in found if date.day is not None)
    whole = [date for date in found if date.day is not None or date.start not in days]
    return sorted(whole, key=lambda date: (date.start, date.end))


def _places_of(found: Iterable[Date]) -> frozenset[int]:
    return frozenset(place for date in found for place in range(date.start, date.end))


def _day_stands(readings: Sequence[Date], evidence: Sequence[Evidence]) -> bool:
    """Whether a passage has a date in one of its readings."""
    known = [date for passage in evidence for date in passage.dates]
    return any(date_stands(date, known, lambda number: any(number in one for one in evidence)) for date in readings)


def _kind_of(amount: Amount, evidence: Sequence[Evidence]) -> MarkKind:
    """The kind of mark for an amount that no passage has: is the number itself missing, or only what it is bound to?"""
    if amount.figure.year:
        return "year"
    if any(one.amounts_like(amount) for one in evidence):
        return "year"
    return "unit" if any(value in one for one in evidence for value in amount.figure.values) else "figure"


def _is_claim(amount: Amount, words: str, skip: Collection[int] = ()) -> bool:
    """Whether an amount claims something: it is not at a place of ``skip`` (in a date), no part of a name and no
    number word ("one of them").
    """
    figure = amount.figure
    if figure.start in skip:
        return False
    named = figure.year is None and _NAME.search(unify_signs(words[max(0, figure.start - 3) : figure.start]))
    return not (figure.bare and not amount.measure and (figure.word or named))


def _stands(amount: Amount, evidence: Sequence[Evidence]) -> bool:
    """Whether one of the passages has this amount, and not with another year."""
    figure = amount.figure
    if figure.bare and any(value in one.around for one in evidence for value in figure.values):
        return True
    found = [true for one in evidence for true in one.amounts_like(amount)]
    if any(not amount.years or not true.years or amount.years & true.years for true in found):
        return True
    return not found and bool(figure.parts) and all(any(part in one for one in evidence) for part in figure.parts)


def _foreign_speakers(words: str, cited: Sequence[Evidence]) -> Iterator[str]:
    """The sources that the clause attributes its words to, and that no passage names."""
    for form in _ATTRIBUTED:
        for match in form.finditer(words):
            named = [word for word in WORD.findall(match["whom"]) if word[0].isupper()]
            if not _NO_SPEAKERS.issuperset(map(stem, named)) and not any(_names(one, named) for one in cited):
                yield match["whom"]


def _names(evidence: Evidence, words: Sequence[str]) -> bool:
    """Whether a passage has these words, an abbreviation of them, or the words that they abbreviate."""
    if evidence.keys.issuperset({stem(word) for word in words} - _NO_SPEAKERS):
        return True
    initials = "".join(word[0] for word in words).upper()
    short = words[0].replace(".", "")
    is_short = len(words) == 1 and short.isupper() and len(short) >= SHORTEST_NAME
    return initials in evidence.abbreviations or (is_short and short in evidence.initials)


def _is_answered(said: Sequence[Clause], context: Context) -> bool:
    """Whether a sentence that cites a passage says more than that there is nothing, or else one that is taken from one.

    Where nothing is cited, most words and all figures of a sentence have to stand in one passage.
    """
    numbers = {passage.number for passage in context.passages}
    telling = [clause for clause in said if not _ABSTAINS.search(clause.words)]
    if any(not numbers.isdisjoint(clause.numbers) for clause in telling):
        return True
    if any(not numbers.isdisjoint(clause.numbers) for clause in said):
        return False
    evidence = [evidence_of(passage) for passage in context.passages if _is_readable(passage)] if telling else []
    return any(_is_told(clause, one) for clause in telling for one in evidence)


def _is_readable(passage: Passage) -> bool:
    return max(len(passage.wider_text), len(passage.hit.chunk.text)) <= LONGEST_READ


def _is_told(clause: Clause, evidence: Evidence) -> bool:
    said = amounts(clause.words, comma=comma_decimals(clause.words))
    keys = Sentence(clause.words, said).keys
    shared = len(keys & evidence.keys)
    return shared > 1 and shared >= TOLD * len(keys) and all(_stands(one, [evidence]) for one in said)


def _given(question: Question) -> frozenset[Decimal]:
    """Years and small counts of the question, and the years of its scope: no amounts, which it may get wrong."""
    text = f"{question.query}\n{question.search_text}"
    asked = figures(text, comma=comma_decimals(text))
    found = {v for figure in asked if figure.bare for v in figure.values if figure.year or 0 <= v < SMALL}
    for _, condition in question.scope.conditions:
        bounds = (condition.gte, condition.lte) if isinstance(condition, Range) else condition.values
        found |= {Decimal(bound) for bound in bounds if isinstance(bound, int)}
    return frozenset(found)


def snippet_of(text: str) -> str:
    """The beginning of a passage's text, as a citation shows it."""
    return text if len(text) <= SNIPPET_CHARACTERS else text[:SNIPPET_CHARACTERS].rsplit(" ", 1)[0] + " …"

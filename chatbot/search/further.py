"""Questions made of headings: to go on with after an answer, and to a report."""

import re
from collections.abc import Callable, Container, Iterable, Sequence
from zlib import crc32

from ..domain import Chunk
from ..domain.scope import Value
from ..language.analysis import LETTERS_PATTERN
from ..language.countries import country_code, name_in
from ..language.groups import usual_groups
from ..language.periods import is_time
from ..language.words import ENGLISH, speaking
from ..questions.reading import (
    COUNTRY,
    DASH,
    HEADING_NUMBER,
    OF_A_REPORT,
    in_a_sentence,
    is_plural,
)
from .indicators import IndicatorIndex
from .subjects import with_article

MAX_FURTHER_QUESTIONS = 3
MAX_TRIES = 6
"""Headings that are tried for these questions."""
FEW_WORDS = 4
MIN_WORD = 3
"""Letters of the longest word of a heading that names something."""
_BRACKETS = re.compile(r"\s*\([^()]*\)$")
Search = Callable[[str], Sequence[Chunk]]


def further_questions(
    cited: Chunk,
    around: Sequence[Chunk],
    index: IndicatorIndex,
    figures: Container[str],
    search: Search,
    ask: Callable[[str, str], str],
    others: Iterable[str] = (),
) -> list[str]:
    """Return at most three questions about the headings that are nearest in meaning to
    that of a cited passage, those with ``figures`` first: of the same chapter, and
    ``others``. A search for each finds a passage under its heading first.

    ``around``: the passages around it. ``ask`` makes a question of a heading and of
    what is asked about, a country or "" for the report itself. A heading that only one
    report of the country has is asked of this report. Raises EmbeddingError.
    """
    country = cited.metadata.get(COUNTRY)
    questions: list[str] = []
    headings = _headings_near(cited, around, index, figures, others)
    for heading in headings[:MAX_TRIES]:
        if len(questions) == MAX_FURTHER_QUESTIONS:
            break
        name = _BRACKETS.sub("", heading)
        name = HEADING_NUMBER.sub("", name)
        if country is not None:
            found = search(f"{name} {country}")
            reports = _under(heading, found)
            is_regular = len(reports) > 1 or heading in figures
            if reports and is_regular:
                questions.append(ask(heading, str(country)))
                continue
        found = search(f"{cited.title}: {name}")
        reports = _under(heading, found)
        if cited.document_id in reports:
            questions.append(ask(heading, ""))
    return questions


def questions_to_document(
    cited: Chunk,
    around: Sequence[Chunk],
    columns: Iterable[str],
    search: Search,
    ask: Callable[[str, str], str],
    asked: str = "",
) -> list[str]:
    """Return at most three questions to the document of a cited passage alone: about
    the ``columns`` of its tables where the passage is a row, else about its other
    headings. A search for each finds the document first.

    ``ask``: see `further_questions`. ``asked``: the column of the question before.
    """
    headings = [chunk.heading for chunk in around if not is_row(chunk)]
    if is_row(cited):
        headings = list(columns)
    questions: list[str] = []
    for heading in dict.fromkeys(headings):
        name = HEADING_NUMBER.sub("", _BRACKETS.sub("", heading))
        if heading in (cited.heading, asked) or not reads_well(name):
            continue
        found = search(f"{cited.title}: {name}")
        if found and found[0].document_id == cited.document_id:
            questions.append(ask(heading, ""))
        if len(questions) == MAX_FURTHER_QUESTIONS:
            break
    return questions


def is_row(chunk: Chunk) -> bool:
    """Return whether a passage is a row of a table whose name is its heading: "County:
    Turkana; Boreholes: 42" under Turkana.
    """
    first_cell, _, others = chunk.text.partition("; ")
    return bool(others) and first_cell.rpartition(": ")[2] == chunk.heading


def _under(heading: str, found: Sequence[Chunk]) -> set[str]:
    """Return the reports with passages under a heading, if the first one found is."""
    if not found:
        return set()
    first = found[0].heading
    if first.casefold() != heading.casefold():
        return set()
    return {one.document_id for one in found if one.heading == first}


def _headings_near(
    cited: Chunk,
    around: Sequence[Chunk],
    index: IndicatorIndex,
    figures: Container[str],
    others: Iterable[str],
) -> list[str]:
    """Return the other headings of the chapter of a passage, where there are chapters,
    and ``others``, that read well: those with figures first, then those nearest in
    meaning. A chapter of one heading stands for those around it.
    """
    headings = {one for one in others if reads_well(_BRACKETS.sub("", one))}
    chapter = set[str]()
    elsewhere = set[str]()
    for chunk in around:
        is_same = cited.chapter in (chunk.chapter, cited.heading)
        if not reads_well(_BRACKETS.sub("", chunk.heading)):
            continue
        if is_same:
            chapter.add(chunk.heading)
        else:
            elsewhere.add(chunk.heading)
    if not chapter - {cited.heading}:
        chapter = elsewhere
    related = sorted((headings | chapter) - {cited.heading})
    if not related or not cited.heading:
        return []
    scores = dict.fromkeys(related, 0.0)
    near = index.near(cited.heading, related)
    for heading, closeness in zip(related, near, strict=True):
        if closeness is not None:
            scores[heading] = closeness.score
    related.sort(key=lambda heading: -scores[heading])
    related.sort(key=lambda heading: heading not in figures)
    return related


def by_nearness(country: str, others: Iterable[str], salt: str) -> list[str]:
    """Return the other countries, those first that have most in common: the more groups
    of countries, and the smaller these are, as "Eastern Africa". Each ``salt`` puts
    equals into another order, so that not everything is compared with the same one.
    """
    own = country_code(country)
    rows = []
    for other in others:
        code = country_code(other)
        if code is None or code == own:
            continue
        closeness = 0.0
        for group in usual_groups():
            members = group.members
            if own in members and code in members:
                closeness += 1 / len(members)
        salted = f"{salt} {other}"
        place = crc32(salted.encode())
        rows.append((-closeness, place, other))
    return [other for _, _, other in sorted(rows)]


def is_asked_about(heading: str) -> bool:
    """Return whether a heading names something: no letter of a list, no part of any
    report, and no time.
    """
    plain = HEADING_NUMBER.sub("", heading)
    if OF_A_REPORT.fullmatch(plain):
        return False
    for part in heading.split(", "):
        if is_time(part):
            return False
    words = LETTERS_PATTERN.findall(heading)
    return any(len(word) >= MIN_WORD for word in words)


def reads_well(heading: str) -> bool:
    """Return whether a heading makes a good question: few words that name something,
    and no part of a thing.
    """
    is_short = DASH not in heading and len(heading.split()) <= FEW_WORDS
    return is_short and is_asked_about(heading)


def first_questions(
    title: str, country: Value | None, headings: Iterable[str], language: str
) -> list[str]:
    """Return questions to a report that nobody has asked yet: what it is about, then
    about its first headings that read well, as names and headings alone where the
    language is not English.
    """
    usable = [
        one
        for one in dict.fromkeys(
            HEADING_NUMBER.sub("", heading) for heading in headings
        )
        if reads_well(one)
    ]
    others = (
        question_about(title, country, one, language)
        for one in usable[: MAX_FURTHER_QUESTIONS - 1]
    )
    return [speaking(language)("What is “{title}” about?", title=title), *others]


def question_about(
    title: str,
    country: Value | None,
    heading: str,
    language: str,
    translated_name: str = "",
) -> str:
    """Return the question for what is said under a heading about a country, or in a
    report. In another language than English, that for its ``translated_name`` where it
    has one, else the names alone: search understands them.
    """
    name = in_a_sentence(_BRACKETS.sub("", heading))
    if language != ENGLISH:
        about = title if country is None else name_in(language, str(country))
        if not translated_name:
            return f"{about}: {name}"
        translated_name = translated_name[:1].upper() + translated_name[1:]
        say = speaking(language)
        return say(
            "What is the {name} of {country}?", name=translated_name, country=about
        )
    if country is None:
        return f"What does {title} say about {name}?"
    return f"What {'are' if is_plural(name) else 'is'} {_possessive(country)} {name}?"


def _possessive(country: Value) -> str:
    name = with_article(str(country))
    return f"{name}'" if name.endswith("s") else f"{name}'s"

"""By whom and when a document was published, and where. Its first pages say so, or its
properties. What is stated under a label or in a property is taken; lines that only look
like it are proposed to a person. A program's name is never taken for somebody.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from operator import attrgetter

from ..domain.documents import AUTHOR_SEPARATOR, Proposal
from ..domain.errors import read_table
from ..language.countries import normalise
from ..language.figures import dates
from .loaders.office import FILLED_IN

__all__ = ["PublicationReader", "labelled_values", "names_organisation"]

_TABLE = read_table(__package__, "publication")
_FIELD_OF_LABEL: dict[str, str] = {
    label: field for field, labels in _TABLE["labels"].items() for label in labels
}
_NAMES: dict[str, frozenset[str]] = {
    name: frozenset(words) for name, words in _TABLE["names"].items()
}


def _beginning(phrases: Sequence[str]) -> re.Pattern[str]:
    longest_first = sorted(map(re.escape, phrases), key=len, reverse=True)
    return re.compile(rf"(?:{'|'.join(longest_first)})\b\s*:?\s*(\S.*)", re.IGNORECASE)


_PHRASES = {name: _beginning(phrases) for name, phrases in _TABLE["phrases"].items()}
_PAIRS = re.compile(r"([^:;]+): ([^:;]+); ([^:;]+): ([^;]+)")
"""Two cells of a row; a list of properties may have the label in one of them."""
_URL = re.compile(r"https?://[^\s<>\"'()\[\]]+[^\s<>\"'()\[\].,;:]")
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>]+[^\s\"<>.,;]")
_ISO = re.compile(r"\s*((?:19|20)\d\d)(?:-(\d\d)(?:-(\d\d))?)?(?:[T ][\d:.,Z+-]*)?\s*")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_RIGHTS = re.compile(
    r"(?:copyright|©|\(c\))[\s©,]*(?:\(c\))?\s*((?:19|20)\d\d(?:\s*[-–,]\s*(?:19|20)?\d\d)*)?"
    r"[\s,]*(?:by\s+)?(?P<holder>[^\W\d_].*)",
    re.IGNORECASE,
)
_RESERVED = re.compile(
    r"[,.;\s]*(?:all rights reserved|tous droits|todos los derechos|todos os direitos"
    r"|alle rechte).*",
    re.IGNORECASE,
)
_END_OF_NAME = re.compile(
    r"(?<=[^\W\d_]{3})\.(?:\s|$)|[|;©<>(\[]|https?:|www\."
    r"|(?<!\S)\S+@|\s[-–—]\s"
)
_BETWEEN_PEOPLE = re.compile(r",|\s(?:and|et|und|y|e|&)\s")
# Both begin where a run begins, as a run of 100,000 characters is tried once then.
_MARKS = re.compile(r"(?<![*∗†‡§¶⁎¹²³⁴⁵⁶⁷⁸⁹⁰\d])[*∗†‡§¶⁎¹²³⁴⁵⁶⁷⁸⁹⁰\d]+(?=\W|$)")
_NAME_PART = re.compile(r"[^\W\d_][^\W\d_'’.-]*(?:['’.-][^\W\d_]*)*")


_BY = _beginning(_TABLE["by"]["names"])


@dataclass(frozen=True, slots=True)
class StatedValue:
    """What a line or a property says, and where."""

    value: str
    origin: str
    line: str

    def proposal(self, field: str, value: str, *, taken: bool = True) -> Proposal:
        """Return the proposal of what was read in the value."""
        return Proposal(
            field=field,
            value=value,
            origin=self.origin,
            taken=taken,
            words=self.line[:200],
        )

    def of_people(self, names: Sequence[str], *, taken: bool = True) -> Proposal:
        """Return the proposal of these authors."""
        value = AUTHOR_SEPARATOR.join(dict.fromkeys(names))
        return self.proposal("authors", value, taken=taken)


@dataclass(frozen=True)
class PublicationReader:
    """Reads the fields of a `Publication`."""

    properties: Mapping[str, str]
    """Of the file: ``authors``, ``publisher``, ``published`` and ``url``."""
    block: Sequence[str]
    """The lines of the title page before its first text."""
    lines: Sequence[str]
    """The lines of the first pages."""
    margins: Sequence[str]
    """Running heads and feet."""
    title: str

    def proposals(self) -> Iterator[Proposal]:
        """Yield each field that something says, once."""
        for proposal in (
            self._publisher(),
            self._authors(),
            self._publication_date(),
            self._source_url(),
        ):
            if proposal is not None:
                yield proposal

    @cached_property
    def _stated(self) -> dict[str, list[StatedValue]]:
        """What stands under labels and behind phrases, by field."""
        statements: dict[str, list[StatedValue]] = {
            name: [] for name in _TABLE["labels"]
        }
        in_block = set(self.block)
        for line in (*self.block, *self.lines):
            origin = "first pages"
            if line in in_block:
                origin = "title block"
            plain = line.replace("*", "").strip(" •-–—#")
            for field, pattern in _PHRASES.items():
                match = pattern.match(plain)
                if match is None:
                    continue
                behind = StatedValue(value=match[1], origin=origin, line=line)
                statements[field].append(behind)
            for label, value in labelled_values(plain):
                labelled = _FIELD_OF_LABEL.get(normalise(label))
                if labelled is None:
                    continue
                under = StatedValue(value=value, origin=origin, line=line)
                statements[labelled].append(under)
        return statements

    @cached_property
    def _text(self) -> str:
        return "\n".join((*self.block, *self.lines))

    def _property(self, name: str) -> StatedValue:
        return StatedValue(
            value=self.properties.get(name, ""),
            origin="document properties",
            line="",
        )

    def _publisher(self) -> Proposal | None:
        for statement in self._stated["publisher"]:
            name = _organisation(statement.value)
            if _is_name(name):
                return statement.proposal("publisher", name)
        stated = self._property("publisher")
        if self._is_believable(stated.value):
            return stated.proposal("publisher", stated.value)
        return self._holder_of_rights() or self._organisation_line()

    def _holder_of_rights(self) -> Proposal | None:
        for line in (*self.block, *self.lines):
            match = _RIGHTS.search(line)
            if match is None:
                continue
            holder = _RESERVED.sub("", match["holder"])
            name = _organisation(holder)
            if _is_name(name):
                statement = StatedValue(holder, "first pages", line)
                return statement.proposal("publisher", name, taken=False)
        return None

    def _organisation_line(self) -> Proposal | None:
        places = {"title block": self.block, "running head": self.margins}
        for origin, lines in places.items():
            for line in lines:
                if names_organisation(line) and line != self.title:
                    statement = StatedValue(line, origin, line)
                    return statement.proposal("publisher", line, taken=False)
        return None

    def _authors(self) -> Proposal | None:
        for statement in self._stated["authors"]:
            people = _people(statement.value)
            if people:
                return statement.of_people(people)
        for line in self.block:
            match = _BY.match(line)
            if match is None:
                continue
            people = _people(match[1])
            if people and all(map(_is_person, people)):
                return StatedValue(match[1], "title block", line).of_people(people)
        stated = self._property("authors")
        names = []
        for written in stated.value.split(AUTHOR_SEPARATOR.strip()):
            name = written.strip()
            if self._is_believable(name):
                names.extend(_people(name) or [name])
        if names:
            return stated.of_people(names)
        for line in self.block:
            people = _people(line)
            if len(people) > 1 and all(map(_is_person, people)):
                statement = StatedValue(line, "title block", line)
                return statement.of_people(people, taken=False)
        return None

    def _publication_date(self) -> Proposal | None:
        dated = [
            *self._stated["publication_date"],
            *self._stated["publisher"],
            self._property("published"),
            *self._stated["date"],
        ]
        for statement in dated:
            day = _date_of(statement.value)
            if day:
                return statement.proposal("publication_date", day)
        # The date of minutes is that of the meeting.
        is_event = not _NAMES["events"].isdisjoint(normalise(self.title).split())
        for line in self.block:
            day = _lone_date(line)
            if day:
                is_day = len(day) == len("2024-03-15")
                statement = StatedValue(line, "title block", line)
                taken = is_day and not is_event
                return statement.proposal("publication_date", day, taken=taken)
        return None

    def _source_url(self) -> Proposal | None:
        for statement in self._stated["source_url"]:
            match = _URL.search(statement.value)
            if match is not None:
                return statement.proposal("source_url", match[0])
            doi = _DOI.search(statement.value)
            if doi is not None:
                return statement.proposal("source_url", f"https://doi.org/{doi[0]}")
        stated = self._property("url")
        if _URL.fullmatch(stated.value):
            return stated.proposal("source_url", stated.value)
        return None

    def _is_believable(self, name: str) -> bool:
        """Return whether a property names somebody: no program, no login. One word has
        to stand in the text, too.
        """
        if not name:
            return False
        is_address = "@" in name
        if is_address:
            return name in self._text
        if FILLED_IN.match(name):
            return False
        if not _is_name(name):
            return False
        is_one_word = " " not in name
        if not is_one_word and not name.islower():
            return True
        return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", self._text) is not None


def labelled_values(line: str) -> Iterator[tuple[str, str]]:
    """Yield what stands before and behind the colons of a line: of the cells "Country:
    Date of publication; Mali: 3 May" also the value under the label.
    """
    match = _PAIRS.fullmatch(line)
    if match is not None:
        first, second, value, other = match.groups()
        yield first, second
        yield value, other
        yield second, other
        yield first, value
        return
    if line.count(": ") > 1:
        return  # the row of a table
    label, colon, value = line.partition(":")
    if colon and value.strip():
        yield label, value.strip()


def _organisation(text: str) -> str:
    """Return the organisation that a text begins with, without place and date."""
    text = _END_OF_NAME.split(text, maxsplit=1)[0]
    for found in dates(text):
        text = text[: found.start]
        break
    text = _YEAR.split(text, maxsplit=1)[0]
    first, *others = text.split(",")
    kept = [first]
    for part in others:
        # "Ministry of Water, Sanitation and Irrigation" is one name.
        if not re.search(r"\s(?:and|et|y|e|und|&)\s", part):
            break
        kept.append(part)
    words = _without_article(",".join(kept))
    while words and words[-1].lower() in {"in", "on", "en", "em", "le", "el", "am"}:
        del words[-1]
    return " ".join(words)


def _without_article(name: str) -> list[str]:
    """Return the words of a name that does not begin with an article."""
    words = name.strip(" .,:–—-").split()
    while words and normalise(words[0]) in _NAMES["articles"]:
        del words[0]
    return words


def _is_name(name: str) -> bool:
    """Return whether a text can name somebody: it is short, begins as names do, and is
    no program.
    """
    words = normalise(name).split()
    if not 1 <= len(words) <= 15 or len(name) > 150:
        return False
    if name[0].islower() or not name[0].isalpha():
        return False
    if sum(map(str.isalpha, name)) < 2:
        return False
    of_letters = [word for word in words if not any(map(str.isdigit, word))]
    return not _NAMES["programs"].issuperset(of_letters)


def _is_person(name: str) -> bool:
    parts = name.split()
    if not 2 <= len(parts) <= 5:
        return False
    words = set(normalise(name).split())
    if words & (_NAMES["organisations"] | _NAMES["programs"]):
        return False
    for part in parts:
        if not _NAME_PART.fullmatch(part):
            return False
        if part[0].islower() and part not in _NAMES["particles"]:
            return False
    return True


def _people(text: str) -> list[str]:
    """Return the people or the organisation that a text begins with."""
    text = _MARKS.sub("", text).strip()
    if ";" in text:
        names = [name.strip(" .,") for name in text.split(";")]
        return [name for name in names if _is_name(name)]
    text = _END_OF_NAME.split(text, maxsplit=1)[0]
    names = []
    for piece in _BETWEEN_PEOPLE.split(text):
        name = piece.strip(" .,")
        if not name or normalise(name) in _NAMES["degrees"]:
            continue
        if not _is_person(name):
            break
        names.append(name)
    if names:
        return names
    # "Lo, Ada", or an organisation
    whole = " ".join(_without_article(text))
    return [whole] if _is_name(whole) else []


def _date_of(text: str) -> str:
    """Return the day, month or year that a text states, "" if there is none. Of several
    days, what they have in common.
    """
    match = _ISO.fullmatch(text)
    if match is not None:
        year, month, day = match.groups("0")
        return _written(int(year), int(month), int(day))
    stated = _dates_in(text)
    if not stated:
        years = _YEAR.findall(text)
        stated.update(years)
    if len(stated) < 2:
        return "".join(stated)
    for length in (len("2024-03"), len("2024")):
        common = {day[:length] for day in stated}
        if len(common) == 1:
            return common.pop()
    return ""


def _dates_in(text: str) -> set[str]:
    """Return the days in a text, and the months that are named without a day."""
    stated = set[str]()
    months_of_days = set[str]()
    for found in dates(text):
        if found.year is None:
            continue
        month = _written(found.year, found.month, 0)
        if found.day is None:
            stated.add(month)
            continue
        day = _written(found.year, found.month, found.day)
        stated.add(day)
        # "3 May 2024" is also read as a month.
        months_of_days.add(month)
    return stated - months_of_days


def _written(year: int, month: int, day: int) -> str:
    """Return a date as ISO 8601 writes it; "" if there is no such day."""
    try:
        date(year, month or 1, day or 1)
    except ValueError:
        return ""
    if not month:
        return f"{year:04d}"
    if not day:
        return f"{year:04d}-{month:02d}"
    return f"{year:04d}-{month:02d}-{day:02d}"


def _lone_date(line: str) -> str:
    """Return the date of a line that says nothing else, besides a place perhaps."""
    day = _date_of(line)
    if not day or len(day) == len("2024"):
        return ""
    rest = line
    for found in sorted(dates(line), key=attrgetter("start"), reverse=True):
        rest = rest[: found.start] + rest[found.end :]
    words = rest.split()
    if len(words) > 3:
        return ""
    is_place = not any(word[0].islower() or word[0].isdigit() for word in words)
    return day if is_place else ""


def names_organisation(line: str) -> bool:
    """Return whether a line of the title page is the name of an organisation."""
    words = normalise(line).split()
    if not 2 <= len(words) <= 10:
        return False
    if ":" in line or line.endswith("."):
        return False
    # A body's name may go on in small letters: "Ministry of public health".
    if words[0] not in _NAMES["organisations"]:
        for word in line.split():
            if len(word) > 3 and word[0].islower():
                return False
    return _is_name(line) and not _NAMES["organisations"].isdisjoint(words)

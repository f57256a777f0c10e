"""The country that a document is about, and what proves it.

A name alone proves nothing: turkey is roasted, Chad is a colleague. The country is
taken if two kinds of evidence agree, one of them its name beside a word of a state's
affairs. Anything less is proposed.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from itertools import chain

from ..domain.documents import Proposal
from ..domain.errors import read_table
from ..domain.scope import NamedCountry
from ..domain.tables import Texts
from ..language.countries import (
    ISO_CODE_LENGTH,
    country_code,
    country_names,
    in_spoken_order,
    normalise,
    usual_name,
)
from ..language.country_names import find_countries
from ..language.iso_codes import provinces
from ..language.places import country_of_place, find_places

__all__ = ["CountryEvidence", "clip_words", "count_countries"]

_COUNTRY = read_table(__package__, "description")["country"]
STATE_WORDS = frozenset(_COUNTRY["state"])
"""Beside a name they say that the state is meant."""
REPORT_WORDS = frozenset(_COUNTRY["reports"])
ORDINARY_WORDS = frozenset(_COUNTRY["ordinary"])
NAMESAKES = frozenset(_COUNTRY["namesakes"])
GIVEN_NAMES = frozenset(_COUNTRY["given_names"])
NAMES_OF_PARTS = frozenset(_COUNTRY["names_of_parts"])
"""Names that stand for a whole country, and are those of its parts or former ones."""
PREPOSITIONS = frozenset(_COUNTRY["prepositions"])
LINKING_WORDS = frozenset(_COUNTRY["linking"])
LONGER_NAMES = frozenset(_COUNTRY["longer_names"])
GOVERNMENTS = tuple(_COUNTRY["governments"])
DESCRIBING = frozenset({"title", "title block", "running head", "file name"})
"""Places whose name of a country is one kind of evidence."""
FOUND_IN_TEXT = frozenset({"web address", "first pages", "places"})
PERSONAL_WORDS = frozenset(_COUNTRY["personal"])
COUNTRY_COLUMNS = frozenset(_COUNTRY["columns"])
DIVISIONS = frozenset(_COUNTRY["divisions"])
MIN_TABLE_WORDS: int = _COUNTRY["table_words"]
MAX_PERSONAL: float = _COUNTRY["personal_share"]
MIN_EVIDENCE: int = _COUNTRY["evidence"]
MANY_KINDS: int = _COUNTRY["kinds"]
MIN_PLACES: int = _COUNTRY["places"]
MANY_PLACES: int = _COUNTRY["many_places"]
MANY_MENTIONS: int = _COUNTRY["many_names"]
MIN_MENTIONS = 3
"""Of a country that only the text names."""
_ADDRESS = re.compile(r",[^,]*$")
"""The country of one: "FAO, Rome, Italy"."""
_CODES_OF_TWO_LETTERS = frozenset({"US", "UK"})
_GOVERNMENT_HOST = re.compile(
    r"[\w-]\.(?:gov|gob|gouv|govt|go|gub|gc)(?:\.([a-z]{2}))?\b(?!\.?\w)"
)
_YEAR_IN_NAME = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_NO_LETTERS = re.compile(r"[\W_]+")
_NUMBER = re.compile(r"\d+")
_CELL = re.compile(r"(?:^|; )([^:;\n]+): ([^;\n]+)", re.MULTILINE)
_NEW_WORD = re.compile(r"_|(?<=[a-z])(?=[A-Z])")
"""Where a word begins in a name of a column: "countryCode"."""
_CONTINENT = re.compile(r"\b(?:north|south|central|latin) $", re.IGNORECASE)
_NEXT_WORD = re.compile(r" ([A-Z]\w+)")
_LOCATIVE = re.compile(
    r"\b(?:in|across|throughout|within|inside|en|au|aux|im|em|no|na)\s+(?:the\s+)?$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class CountryEvidence:
    """What the parts of a document say of its country.

    ``places`` are lines by the name of their place, the surest first: "title" has the
    title alone. ``text`` is that of the first pages without these lines. ``titles``
    are those of the library.
    """

    lines: Mapping[str, Sequence[str]]
    text: str
    stem: str
    titles: Sequence[str] = field(default=())
    rows: Sequence[str] = field(default=())
    """Rows of a table, each as "column: cell; column: cell"."""

    @cached_property
    def title(self) -> str:
        return "".join(self.lines["title"])

    @cached_property
    def mentions(self) -> Counter[str]:
        return count_countries(self.text)

    @cached_property
    def marks(self) -> dict[str, Texts]:
        """Cities, provinces and the like by country."""
        lines = dict.fromkeys(chain(*self.lines.values(), [self.text]))
        return find_places("\n".join(lines))

    @cached_property
    def is_ordinary(self) -> bool:
        """Whether the document is no report on a state: minutes, a menu, a lesson."""
        lines = [self.title, self.stem, *self.lines["title block"][:4]]
        return not ORDINARY_WORDS.isdisjoint(normalise(" ".join(lines)).split())

    def proposal(self) -> Proposal | None:
        """Return the country with the words that name it, None if nothing does."""
        if len(_states(self.title)) > 1:
            return None
        likely: list[Proposal] = []
        for code, origin, words in chain(self._named(), self._likeliest()):
            is_proven = self._is_proven(code, origin, words)
            proposal = self._propose(code, origin, words, taken=is_proven)
            if is_proven:
                return proposal
            if not (self.is_ordinary and self._is_namesake(code)):
                likely.append(proposal)
        return next(iter(likely), None)

    def _propose(self, code: str, origin: str, words: str, *, taken: bool) -> Proposal:
        return Proposal(
            "country_name",
            self._called(code, origin, words),
            origin,
            taken,
            clip_words(words),
        )

    def _called(self, code: str, origin: str, words: str) -> str:
        """Return what the title calls the country, else its usual name."""
        name = _name_in(self.title, code)
        if not name and origin == "title block":
            name = _name_in(words, code)
        return name or usual_name(code)

    def _named(self) -> Iterator[tuple[str, str, str]]:
        """Yield the countries that a place names alone, with the place and the line."""
        for origin, lines in self.lines.items():
            by_code: dict[str, str] = {}
            for line in lines:
                kept = line if origin == "title" else _without_address(line)
                for code in _states(kept):
                    by_code.setdefault(code, line)
            if origin == "file name" and not by_code:
                by_code = self._codes_in_stem()
            if len(by_code) == 1:
                ((code, line),) = by_code.items()
                yield code, origin, line

    def _codes_in_stem(self) -> dict[str, str]:
        """Return codes in the file name of countries that the text names."""
        words = normalise(self.stem.replace("_", " ")).split()
        codes = [code for code in self.mentions if code.lower() in words]
        return dict.fromkeys(codes, self.stem)

    def _is_proven(self, code: str, origin: str, words: str) -> bool:
        if self.is_ordinary:
            return False
        kinds = self._count_kinds(code, origin)
        if kinds >= MANY_KINDS and not self._is_personal:
            return True
        if kinds >= 2 and kinds + self._state_words >= MIN_EVIDENCE:
            return True
        if self._is_table_of(code):
            return True
        if self._is_agreed(code, origin) and self._state_words >= MIN_EVIDENCE:
            return True
        return origin not in FOUND_IN_TEXT and self._is_stated(code, origin, words)

    def _is_agreed(self, code: str, origin: str) -> bool:
        """Return whether text and places name this country alone: the text often,
        beside a place that describes the document, or in many words of a state's
        affairs.
        """
        if self._is_namesake(code):
            return False
        if self.mentions.keys() != {code} or self.marks.keys() != {code}:
            return False
        if origin in DESCRIBING or self.mentions[code] >= MIN_MENTIONS:
            return True
        # A law speaks of little else than a state's affairs, and names it once.
        evidence = self.mentions[code] + self._state_words
        return evidence >= MIN_MENTIONS + MIN_EVIDENCE

    @cached_property
    def _cells(self) -> list[tuple[str, str]]:
        """The cells of the table, each below the words of its column."""
        cells: list[tuple[str, str]] = []
        for row in self.rows:
            for column, value in _CELL.findall(row):
                cells.append((normalise(_NEW_WORD.sub(" ", column)), value))
        return cells

    @cached_property
    def _row_country(self) -> str | None:
        """The one country that a column for countries has in all rows."""
        codes = set[str | None]()
        for column, value in self._cells:
            if column in COUNTRY_COLUMNS:
                codes.add(country_code(value))
        return codes.pop() if len(codes) == 1 else None

    def _is_table_of(self, code: str) -> bool:
        """Return whether the rows of a table are about a state: a column has it in all
        rows, or they list many of its districts or provinces. The columns have to
        speak of a state's affairs, too: a list of customers has countries as well.
        """
        words = set[str]()
        for column, _ in self._cells:
            words.update(column.split())
        divisions = words & DIVISIONS
        has_many_places = len(self.marks.get(code, ())) >= MANY_PLACES
        lists_parts = divisions and has_many_places and self._has_most_places(code)
        if not lists_parts and self._row_country != code:
            return False
        return len(divisions) + self._state_words >= MIN_TABLE_WORDS

    def _is_stated(self, code: str, origin: str, words: str) -> bool:
        """Return whether a place that describes the document says that it is about the
        country, and something agrees.
        """
        is_catalogued = origin == "title block" and self._is_catalogued(code)
        if is_catalogued or self._is_named_as_filed(code, origin):
            return True
        if self._is_in_series(code) and origin in {"title", "file name"}:
            return not self._is_namesake(code) or self._agreeing(code)
        head = self._head_line(code)
        lines = filter(None, (words, head))
        if not any(self._is_about_state(line, code) for line in lines):
            return False
        return self._agreeing(code) or self._is_confirmed(code, origin, words, head)

    def _is_confirmed(self, code: str, origin: str, words: str, head: str) -> bool:
        """Return whether the text, its running head or its file name confirm a line
        that speaks of the state ``code``. Nothing confirms a namesake.
        """
        if self._is_namesake(code):
            return False
        if self._text_agrees(code):
            return True
        if head and origin != "running head":
            return True
        if origin == "file name" or code not in _states(self._spoken_stem):
            return False
        return _is_beside(words, code)

    @cached_property
    def _words(self) -> list[str]:
        return normalise(self.text).split()

    @cached_property
    def _is_personal(self) -> bool:
        """Whether the text is a letter, a diary or an advertisement: these say "I",
        "we" and "you".
        """
        personal = sum(word in PERSONAL_WORDS for word in self._words)
        return personal > MAX_PERSONAL * len(self._words)

    @cached_property
    def _state_words(self) -> int:
        """The number of different words of a state's affairs, 0 in a personal text."""
        if self._is_personal:
            return 0
        lines = normalise("\n".join([self.title, *self.lines["title block"]])).split()
        words = self._words
        kinds = REPORT_WORDS.intersection(lines)
        return len(kinds | STATE_WORDS.intersection(lines + words))

    def _count_kinds(self, code: str, origin: str) -> int:
        """Count the kinds of evidence that point to the country: its name in a place
        that describes the document, most names in the text, and most places. Many of
        either are two kinds.
        """
        has_most_places = self._has_most_places(code)
        if self._is_namesake(code) and not has_most_places:
            return 0
        kinds = [origin in DESCRIBING, has_most_places]
        is_most_named = self._is_most_named(code)
        if origin == "title":
            # A report on a war names both sides.
            is_most_named = self.mentions[code] > self._next_named(code)
        if self.mentions[code] >= MIN_MENTIONS and is_most_named:
            kinds += [True, self.mentions[code] >= MANY_MENTIONS]
        if has_most_places:
            kinds.append(len(self.marks[code]) >= MANY_PLACES)
        return sum(kinds)

    def _next_named(self, code: str) -> int:
        """Return how often the text names the country that it names most besides."""
        others = [count for other, count in self.mentions.items() if other != code]
        return max(others, default=0)

    def _has_its_places(self, code: str) -> bool:
        """Return whether most places are this country's, or those of the title and no
        others. A country that the text names more often is likelier.
        """
        if self.mentions[code] < self._next_named(code):
            return False
        if self._has_most_places(code):
            return True
        if self.marks.keys() != {code}:
            return False
        is_titled = code in find_places(self.title)
        return is_titled or self._state_words >= MIN_EVIDENCE

    def _has_most_places(self, code: str) -> bool:
        count = len(self.marks.get(code, ()))
        total = sum(map(len, self.marks.values()))
        return count >= MIN_PLACES and 3 * count >= 2 * total

    @property
    def _spoken_stem(self) -> str:
        return "\n".join(self.lines.get("file name", ()))

    def _head_line(self, code: str) -> str:
        """Return the running head that names the country, "" if there is none."""
        for line in self.lines.get("running head", ()):
            if code in _states(_without_address(line)):
                return line
        return ""

    def _is_about_state(self, line: str, code: str) -> bool:
        """Return whether the line has the name beside a word of a state's affairs, or
        the name alone below a title that has one or above a text of such words.
        """
        words = set(normalise(line).split())
        if words & STATE_WORDS or _is_beside(line, code):
            return True
        name, _, _ = line.partition(",")
        is_alone = country_code(_NUMBER.sub("", name).strip(" :-")) == code
        if is_alone and line == self.title:
            text_words = set(normalise(self.text).split())
            return len(text_words & STATE_WORDS) >= 2
        title_words = set(normalise(self.title).split())
        return is_alone and bool(title_words & (STATE_WORDS | REPORT_WORDS))

    def _is_catalogued(self, code: str) -> bool:
        """Return whether a list of properties names the country beside the title."""
        stated: dict[str, str] = {}
        for line in self.lines["title block"]:
            label, colon, value = line.partition(":")
            if colon:
                stated[normalise(label)] = value
        named = [country_code(stated.get(label, "")) for label in _COUNTRY["labels"]]
        return code in named and not stated.keys().isdisjoint(_COUNTRY["catalogue"])

    def _is_named_as_filed(self, code: str, origin: str) -> bool:
        """Return whether the file is named "kenya-2024", and its title says nothing
        else.
        """
        name = self._spoken_stem
        rest = normalise(_NUMBER.sub(" ", _without_country(name, code))).split()
        is_dated = _YEAR_IN_NAME.search(name) is not None
        if not is_dated or not LINKING_WORDS.issuperset(rest):
            return False
        if self._is_namesake(code):
            return False
        return origin == "file name" or code in _states(self.title)

    def _is_in_series(self, code: str) -> bool:
        """Return whether the library has the same title with another country in it."""
        for own in {series_of(self.title), series_of(self._spoken_stem)}:
            if own is None:
                continue
            word = max(own.split(), key=len)
            # Reading the countries of all titles of a large library takes long.
            for title in self.titles:
                if word not in _plain(title):
                    continue
                # The title of a file that has none is its name: "cash-yemen-2024".
                spoken = title
                if title.islower():
                    spoken = _NO_LETTERS.sub(" ", title).title()
                if series_of(spoken) != own:
                    continue
                if _states_of_title(spoken) - {code} - NAMESAKES:
                    return True
        return False

    def _is_namesake(self, code: str) -> bool:
        """Return whether the name has other usual meanings: a person, a bird, a state
        of the United States.
        """
        others = self.mentions.keys() | self.marks.keys()
        return code in NAMESAKES or bool(_countries_with_part(code) & others)

    def _agreeing(self, code: str) -> bool:
        """Return whether places or the name of the state's government agree."""
        return self._places_agree(code) or self._government_named(code)

    def _places_agree(self, code: str) -> bool:
        """Return whether the document names the country's places and no other's as
        often.
        """
        count = len(self.marks.get(code, ()))
        if not count:
            return False
        others = self.marks.keys() - {code}
        rival = max((len(self.marks[other]) for other in others), default=0)
        if self._is_namesake(code):
            return count > rival
        if count == 1:
            return rival <= 1
        return 2 * count > rival

    def _government_named(self, code: str) -> bool:
        text = "\n".join([*self.lines["title block"], self.text])
        for country in _named_states(text):
            before = normalise(text[max(0, country.start - 40) : country.start])
            if code in country.keys and before.endswith(GOVERNMENTS):
                return True
        return False

    def _text_agrees(self, code: str) -> bool:
        """Return whether the text names the country as a place, and none much more
        often.
        """
        count = self.mentions[code]
        is_place = _is_named_as_place(self.text, code)
        if not is_place and (code in GIVEN_NAMES or not count):
            return False
        title_words = normalise(self.title).split()
        is_rare = count < MIN_MENTIONS and STATE_WORDS.isdisjoint(title_words)
        if not is_place and is_rare:
            return False
        is_elsewhere = bool(self.marks) and code not in self.marks
        # A town of that name lies elsewhere: Lebanon in Pennsylvania.
        if is_elsewhere and code in GIVEN_NAMES:
            return False
        most = max(self.mentions.values(), default=0)
        return most <= max(MIN_MENTIONS, 2 * count)

    def _likeliest(self) -> Iterator[tuple[str, str, str]]:
        """Yield the countries that addresses, the text and places point to."""
        hosts: dict[str | None, str] = {}
        for match in _GOVERNMENT_HOST.finditer(self.text):
            hosts[country_code(match[1] or "us")] = match[0]
        for code, address in hosts.items():
            if code and len(hosts) == 1 and len(self.mentions) < 2:
                yield code, "web address", address
        if self._row_country is not None:
            yield self._row_country, "first pages", self.rows[0]
        for code in self.mentions:
            if self._is_likely(code):
                yield code, "first pages", _sentence_with(self.text, code)
        for code, marks in self.marks.items():
            if self._has_its_places(code):
                yield code, "places", ", ".join(marks)

    def _is_likely(self, code: str) -> bool:
        """Return whether the text names the country most, and no doubt is left."""
        if not self._is_most_named(code) and not self._is_twice_named(code):
            return False
        is_alone = self.mentions.total() < MIN_MENTIONS and bool(self.marks)
        is_doubtful = self._is_namesake(code) or is_alone
        return not is_doubtful or self._places_agree(code)

    def _is_twice_named(self, code: str) -> bool:
        count = self.mentions[code]
        return count >= MIN_MENTIONS and count >= 2 * self._next_named(code)

    def _is_most_named(self, code: str) -> bool:
        count = self.mentions[code]
        is_often = count >= MIN_MENTIONS and 2 * count > self.mentions.total()
        # A few rows of a table may lie beyond the border.
        return is_often or (len(self.mentions) == 1 and not self.rows)


def clip_words(words: str) -> str:
    """Return the beginning of the words that a proposal comes from."""
    return words[:120]


def count_countries(text: str) -> Counter[str]:
    """Return how often a text names each country; not its people, nor its language."""
    counts: Counter[str] = Counter()
    for country in _named_states(text):
        counts[country.keys[0]] += 1
    return counts


@lru_cache(maxsize=50_000)
def _plain(title: str) -> str:
    """Normalise a title; a review compares those of the library once a report."""
    return normalise(title)


@lru_cache(maxsize=50_000)
def _states_of_title(title: str) -> frozenset[str]:
    return frozenset(_states(title))


@lru_cache(maxsize=50_000)
def series_of(title: str) -> str | None:
    """Return what titles of one series share: without the country and without numbers.
    None if that is nothing, or if the title names no country or several.
    """
    states = _named_states(title)
    if len(states) != 1:
        return None
    rest = f"{title[: states[0].start]} {title[states[0].end :]}"
    shared = " ".join(normalise(_NUMBER.sub(" ", rest)).split())
    return shared or None


def _states(text: str) -> list[str]:
    return list(count_countries(text))


def _named_states(text: str) -> list[NamedCountry]:
    """Return where a text names one country by its name, with a capital letter."""
    named = []
    for country in find_countries(text, misspelt=False):
        # A code of two letters is hardly a country: "C.A.".
        short = country.text.replace(".", "").upper()
        is_name = len(short) > len("UK") or short in _CODES_OF_TWO_LETTERS
        is_one = len(country.keys) == 1 and len(country.keys[0]) == ISO_CODE_LENGTH
        if not is_one or not is_name:
            continue
        if country.by_people or country.text[0].islower():
            continue
        # "San Martín" is a region of Peru, and an island.
        if country_of_place(country.text) not in {None, country.keys[0]}:
            continue
        if _CONTINENT.search(text[: country.start]):
            continue
        following = _NEXT_WORD.match(text, country.end)
        if following is not None and following[1].lower() in LONGER_NAMES:
            continue
        named.append(country)
    return named


def _name_in(line: str, code: str) -> str:
    """Return the English name by which a line calls the whole of a country: "Burma", of
    which ISO 3166 says "Myanmar"; "" where it has none.
    """
    for country in _named_states(line):
        name = in_spoken_order(country.text)
        key = normalise(country.text)
        if code not in country.keys or key not in country_names():
            continue
        is_official = not STATE_WORDS.isdisjoint(key.split())
        if name.isupper() or key in NAMES_OF_PARTS or is_official:
            continue
        if key == normalise(usual_name(code)):
            # "Perú" in a Spanish title.
            name = usual_name(code)
        # "The Gambia: Country Report", but not "The Kenya Report".
        if line[: country.start] == "The " and not line[country.end :].startswith(" "):
            return f"The {name}"
        return name
    return ""


def _without_country(line: str, code: str) -> str:
    for country in reversed(_named_states(line)):
        if code in country.keys:
            line = f"{line[: country.start]} {line[country.end :]}"
    return line


def _is_beside(line: str, code: str) -> bool:
    """Return whether only linking words stand between the name and a word of reports or
    of a state's affairs, or such a word is said of what is in the country.
    """
    words = STATE_WORDS | REPORT_WORDS
    for country in _named_states(line):
        if code not in country.keys:
            continue
        before = normalise(_NUMBER.sub(" ", line[: country.start])).split()
        after = normalise(_NUMBER.sub(" ", line[country.end :])).split()
        for near in (before[::-1], after):
            for word in near:
                if word in words:
                    return True
                if word not in LINKING_WORDS:
                    break
        # "Survey of wells in Kenya".
        is_in_it = bool(before) and before[-1] in PREPOSITIONS
        if is_in_it and not words.isdisjoint(before):
            return True
    return False


def _without_address(line: str) -> str:
    """Return the line without the country of an address."""
    words = set(normalise(line).split())
    if words & (STATE_WORDS | REPORT_WORDS):
        return line
    return _ADDRESS.sub("", line)


def _is_named_as_place(text: str, code: str) -> bool:
    for country in _named_states(text):
        if code in country.keys and _LOCATIVE.search(text[: country.start][-20:]):
            return True
    return False


def _sentence_with(text: str, code: str) -> str:
    """Return some words around the first mention of a country."""
    for country in _named_states(text):
        if code in country.keys:
            start = text.rfind("\n", 0, country.start) + 1
            start = max(start, country.start - 60)
            line, _, _ = text[start:].partition("\n")
            return line.strip()
    return ""


@cache
def _countries_with_part(code: str) -> set[str]:
    """Return the countries that have a part of the same name, as the United States have
    Georgia.
    """
    countries: set[str] = set()
    for part in provinces():
        if len(part.name) <= ISO_CODE_LENGTH:
            continue
        if country_code(part.name) == code:
            countries.add(str(country_code(part.country)))
    countries.discard(code)
    return countries

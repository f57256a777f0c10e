"""Names of groups of countries in a text, the longest name at each place: "the EU",
"West Africa", "African countries".
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, lru_cache
from importlib.resources import files

from ..domain.scope import CountryGroup, NamedGroup
from .countries import normalise

__all__ = [
    "COLUMNS",
    "SEPARATOR",
    "find_groups",
    "group_named",
    "groups_like",
    "split_words",
    "usual_groups",
]
COLUMNS = ("name", "other_words", "adjectives", "members", "source", "date")
SEPARATOR = "|"
"""Between the words of a cell."""
_WORD = re.compile(r"[^\W_]+")
_COUNTRIES = frozenset(
    (
        *("country", "countries", "nation", "nations", "state", "states"),
        *("economy", "economies", "member", "members"),
        *("pais", "paises", "estado", "estados", "nacion", "naciones"),
        *("pays", "etat", "etats"),
        *("دولة", "دول", "الدولة", "الدول", "بلد", "بلدان", "البلدان"),
    )
)
"""Words for countries in the five languages, normalised."""
_ARABIC_LEADS = re.compile("^[وفبكل](?=ا)")


def split_words(cell: str) -> tuple[str, ...]:
    """Return the words of a cell of the table, each once."""
    stripped = [word.strip() for word in cell.split(SEPARATOR)]
    return tuple(dict.fromkeys(word for word in stripped if word))


@cache
def usual_groups() -> tuple[CountryGroup, ...]:
    """Return the groups that come with the program, from `groups.csv`."""
    text = files(__package__).joinpath("groups.csv").read_text("utf-8")
    return tuple(
        CountryGroup(
            row["name"],
            tuple(row["members"].split()),
            split_words(row["other_words"]),
            split_words(row["adjectives"]),
            row["source"],
            row["date"],
        )
        for row in csv.DictReader(text.splitlines())
    )


@dataclass(frozen=True, slots=True)
class _Lookup:
    """Groups by normalised word; ``longest`` word, of how many it is made. Those
    ``beside`` are a name beside a word for countries only, unless they are written in
    capitals: adjectives, and "au".
    """

    groups: Mapping[str, CountryGroup]
    beside: frozenset[str]
    longest: int


@lru_cache(maxsize=8)
def _lookup(groups: Sequence[CountryGroup]) -> _Lookup:
    by_word: dict[str, CountryGroup] = {}
    beside: set[str] = set()
    for group in groups:
        for name in (group.name, *group.other_words):
            by_word.setdefault(_key(name), group)
            if re.fullmatch("[A-Z][A-Z]", name):
                beside.add(_key(name))
    for group in groups:
        for word in group.adjectives:
            for form in (_key(word), _key(f"{word}s"), _key(f"{word}es")):
                if form not in by_word:
                    by_word[form] = group
                    beside.add(form)
    longest = max((key.count(" ") + 1 for key in by_word), default=0)
    return _Lookup(by_word, frozenset(beside), longest)


def _key(name: str) -> str:
    return normalise(" ".join(_WORD.findall(name)))


def group_named(name: str, groups: Sequence[CountryGroup]) -> CountryGroup | None:
    """Return the group with this name, other word or adjective in any case, or None."""
    return _lookup(tuple(groups)).groups.get(_key(name))


def groups_like(name: str, groups: Sequence[CountryGroup]) -> list[str]:
    """Return the names of groups that a wrong name may mean, the nearest first."""
    by_word = _lookup(tuple(groups)).groups
    close = get_close_matches(_key(name)[:100], by_word, n=5, cutoff=0.6)
    return list(dict.fromkeys(by_word[key].name for key in close))


def find_groups(text: str, groups: Sequence[CountryGroup]) -> Iterator[NamedGroup]:
    """Yield the groups that a text names, in text order."""
    lookup = _lookup(tuple(groups))
    words = list(_WORD.finditer(text))
    keys = [_ARABIC_LEADS.sub("", normalise(word[0])) for word in words]
    position = 0
    while position < len(words):
        count = _length_at(text, words, keys, position, lookup)
        if not count:
            position += 1
            continue
        start = words[position].start()
        end = words[position + count - 1].end()
        name = " ".join(keys[position : position + count])
        yield NamedGroup(lookup.groups[name], text[start:end], start, end)
        position += count


def _length_at(
    text: str,
    words: Sequence[re.Match[str]],
    keys: Sequence[str],
    position: int,
    lookup: _Lookup,
) -> int:
    """Return of how many words the longest name is that begins here, 0 without one."""
    for count in range(min(lookup.longest, len(words) - position), 0, -1):
        end = position + count
        name = " ".join(keys[position:end])
        if name not in lookup.groups:
            continue
        written = text[words[position].start() : words[end - 1].end()]
        is_plain = name not in lookup.beside or (count == 1 and written.isupper())
        if is_plain or _is_of_countries(keys, position, end):
            return count
    return 0


def _is_of_countries(keys: Sequence[str], start: int, end: int) -> bool:
    """Return whether a word for countries stands beside an adjective."""
    before = keys[max(0, start - 1) : start]
    if not _COUNTRIES.isdisjoint(before):
        return True
    if before == ["the"] and keys[start].endswith("s"):
        # "Among the Europeans".
        return True
    # "Latin American or Caribbean countries".
    return not _COUNTRIES.isdisjoint(keys[end : end + 3])

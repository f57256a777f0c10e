"""What a person should look at in the reports of a library: values that their text only
proposes, countries that nothing proves, and reports that look like another one.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Literal

from ..domain import DocumentRecord, Loaded, Section
from ..domain.documents import SECTION_SEPARATOR, Proposal
from ..domain.errors import read_table
from ..domain.protocols import Passages
from ..domain.scope import Value
from ..language.countries import normalise
from ..language.country_names import country_key
from .description import WORKBOOKS, FirstPages
from .pipeline import passages
from .sources import METADATA, PUBLICATION, About, shown_source

__all__ = ["MAX_REVIEWED", "Doubt", "alike", "doubts", "value_of"]

_LIMITS = read_table(__package__, "description")["review"]
MAX_REVIEWED: int = _LIMITS["reports"]
"""Reports that one request changes or reviews."""
FIRST_PASSAGES: int = _LIMITS["passages"]
MAX_TITLES: int = _LIMITS["titles"]
MAX_ALIKE: int = _LIMITS["alike"]


@dataclass(frozen=True, slots=True)
class Doubt:
    """A value of a report that a person should confirm or change."""

    field: str
    value: Value
    origin: str
    """The place that says so, such as "title" or "file name"."""
    words: str
    """The words of the report that it comes from; "" if none were kept."""
    reason: Literal["proposed", "unproven"]
    """``proposed``: the report does not have this value. ``unproven``: it has it from
    an older release, and would not get it from its text today.
    """


def doubts(
    record: DocumentRecord, store: Passages, titles: Sequence[str]
) -> tuple[Doubt, ...]:
    """Return the doubts about a report that no person has settled. ``titles`` are those
    of the library.
    """
    open_doubts = []
    for proposal in record.proposed:
        is_field = proposal.field in About.model_fields
        if not is_field or proposal.field in record.overrides:
            continue
        has_value = value_of(record, proposal.field) == proposal.value
        if not proposal.taken and not has_value:
            open_doubts.append(_doubt(proposal, "proposed"))
        # An older release kept no words: it took a country that a name alone gave.
        is_older = proposal.taken and has_value and not proposal.words
        if not is_older or proposal.field != "country_name":
            continue
        words = ""
        country = _country(record, store, titles[:MAX_TITLES])
        if country is not None and _is_same_country(country, proposal):
            if country.taken:
                continue
            words = country.words
        open_doubts.append(_doubt(replace(proposal, words=words), "unproven"))
    return tuple(open_doubts)


def _is_same_country(first: Proposal, second: Proposal) -> bool:
    """Return whether two proposals are of one country: the data may spell it as an
    older report does.
    """
    return country_key(str(first.value)) == country_key(str(second.value))


def _doubt(proposal: Proposal, reason: Literal["proposed", "unproven"]) -> Doubt:
    return Doubt(
        field=proposal.field,
        value=proposal.value,
        origin=proposal.origin,
        words=proposal.words,
        reason=reason,
    )


def _country(
    record: DocumentRecord, store: Passages, titles: Sequence[str]
) -> Proposal | None:
    """Return the country that the stored text of a report gives. Its running heads and
    its file's properties are not stored, so that a person should look.
    """
    sections = []
    for chunk in passages(store, record, offset=0, limit=FIRST_PASSAGES):
        path = tuple(filter(None, chunk.section.split(SECTION_SEPARATOR)))
        sections.append(Section(path, chunk.text, page=chunk.page))
    name = PurePath(shown_source(record.source))
    loaded = Loaded(record.title, tuple(sections))
    pages = FirstPages(loaded, name.stem, name.suffix.lower() in WORKBOOKS)
    return pages.country(record.title, titles)


def value_of(record: DocumentRecord, field: str) -> Any:
    """Return what a report has for a field of `About`, as a person would state it; None
    for nothing.
    """
    if field in METADATA:
        return record.metadata.get(field)
    if field in PUBLICATION:
        value = getattr(record.publication, field)
    else:
        value = getattr(record, field)
    if isinstance(value, tuple):
        value = list(value)
    return value or None


def alike(records: Iterable[DocumentRecord]) -> dict[str, tuple[DocumentRecord, ...]]:
    """Return the reports that are the same file as another one, or have its title,
    country and year, by id, each with up to MAX_ALIKE of those others.
    """
    groups: defaultdict[tuple[object, ...], list[DocumentRecord]] = defaultdict(list)
    for record in records:
        country = record.metadata.get("country_name")
        key = (normalise(record.title), country, record.metadata.get("year"))
        groups[key].append(record)
        if record.digest:
            groups[record.digest,].append(record)
    others: defaultdict[str, dict[str, DocumentRecord]] = defaultdict(dict)
    for group in groups.values():
        # Each names a few: of a thousand with one title not all of all.
        named = group[: MAX_ALIKE + 1]
        for record in group:
            for other in named:
                if other.id != record.id:
                    others[record.id][other.id] = other
    found: dict[str, tuple[DocumentRecord, ...]] = {}
    for id, of_record in others.items():
        found[id] = tuple(of_record.values())[:MAX_ALIKE]
    return found

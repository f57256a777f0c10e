"""The body of a document before what is beside it: passages of references, contents,
notes and the like come last, unless the question asks for them.
"""

from collections.abc import Collection, Sequence

from ..domain import SearchHit
from ..language.zones import ZONES

__all__ = ["body_first", "headings_of", "titles_of"]


def titles_of(zones: Collection[str]) -> str:
    """Return what a question is embedded with that asks for zones: "Who do I contact?"
    is not near to a list of addresses.
    """
    return " ".join(f"{ZONES[name].title}." for name in sorted(zones))


def headings_of(zones: Collection[str]) -> str:
    """Return the words of the headings of these zones, each once."""
    words: set[str] = set()
    for name in zones:
        for heading in ZONES[name].headings:
            words.update(heading.split())
    return " ".join(sorted(words))


def body_first(
    hits: Sequence[SearchHit], zones: Collection[str], nearest: int | None
) -> list[SearchHit]:
    """Return the hits in their order, those of the ``zones`` asked for first and those
    of other zones last.

    ``nearest``: the place of the hit that both searches put first, if there is one.
    Where it states facts, such as a telephone number, it stays: the question asks for
    them in words of its own.
    """
    before: list[SearchHit] = []
    body: list[SearchHit] = []
    behind: list[SearchHit] = []
    for place, hit in enumerate(hits):
        zone = hit.chunk.zone
        if zone in zones:
            before.append(hit)
        elif not zone or (place == nearest and ZONES[zone].holds_facts):
            body.append(hit)
        else:
            behind.append(hit)
    return [*before, *body, *behind]

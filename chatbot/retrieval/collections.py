"""Which collections a question is searched in, where a model may choose among them by their descriptions (R-C5).

The general collection and those without a description are always searched. Pure: asking the model is an agent's work.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KnowledgeCollection:
    """A collection of passages; ``description`` says what is in it, "" = nothing is said."""

    name: str
    description: str = ""


def knowledge_collections(names: Sequence[str], descriptions: Mapping[str, str]) -> tuple[KnowledgeCollection, ...]:
    """Each name once, in this order: the first is the general collection."""
    return tuple(KnowledgeCollection(name, descriptions.get(name, "")) for name in dict.fromkeys(names))


def selectable(collections: Sequence[KnowledgeCollection], allowed: Sequence[str] = ()) -> list[KnowledgeCollection]:
    """Those a model may choose among; empty = there is no choice, so no call is needed.

    ``allowed``: the question's own (`Scope.collections`), none = all. One that is to choose alone is no choice.
    """
    found = [one for one in collections[1:] if one.description and _inside(one, allowed)]
    return found if len(found) > 1 else []


def chosen(
    collections: Sequence[KnowledgeCollection], allowed: Sequence[str] = (), picked: Iterable[str] = ()
) -> tuple[str, ...]:
    """What is searched after a model picked these names: them and what is always searched.

    Names it may not choose are dropped; where none is left, all that is allowed.
    """
    choice = {one.name for one in selectable(collections, allowed)}
    kept = choice.intersection(picked)
    every = [one.name for one in collections if _inside(one, allowed)]
    return tuple(name for name in every if not kept or name not in choice or name in kept)


def _inside(collection: KnowledgeCollection, allowed: Sequence[str]) -> bool:
    return not allowed or collection.name in allowed

"""Lets the model choose in which collections several searches look (seed 002)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ...models.replies import numbers
from ...search.scope import KnowledgeCollection, selectable_collections
from ..tools.model import ModelTool
from ..turn import Draft, Turn
from ..writers.nothing import NothingFound


@dataclass(frozen=True, slots=True)
class ChooseCollections:
    """Narrows the scope to some collections, for modes with several searches.

    That takes one call, none if there is no choice. The scope that the person chose is
    never left, and a collection that cannot be chosen is searched, too. A reply that
    cannot be read, or chooses nothing, leaves all.
    """

    collections: Sequence[KnowledgeCollection]
    model: ModelTool
    nothing: NothingFound

    def run(self, turn: Turn) -> Draft | None:
        if turn.mode is None or not turn.mode.searches_often:
            return None
        is_empty = not turn.scope.documents and not turn.question.scope
        if is_empty and self.nothing.is_library_empty(turn):
            return self.nothing.write(turn, ())
        chosen = turn.question.scope
        choice = selectable_collections(self.collections, chosen.collections)
        if not choice or not turn.has_model:
            return None
        described = "\n".join(
            f"{number}. {collection.name}: {collection.description}"
            for number, collection in enumerate(choice, start=1)
        )
        picked = self.model.ask(
            turn,
            "collections",
            numbers(len(choice)),
            "All collections are searched",
            collections=described,
        )
        if picked is None:
            return None
        left_out = _not_picked(choice, picked)
        names = [
            collection.name
            for collection in self.collections
            if collection.name not in left_out and chosen.holds(collection.name)
        ]
        if chosen.collections or len(names) < len(self.collections):
            turn.change(scope=chosen.within(names))
        turn.events.step("collections", "Searched in", items=names)
        return None


def _not_picked(
    choice: Sequence[KnowledgeCollection], picked: Collection[int]
) -> set[str]:
    """Return the names of the collections whose numbers, from 1, were not picked; none
    where nothing was.
    """
    if not picked:
        return set()
    return {
        collection.name
        for number, collection in enumerate(choice, start=1)
        if number not in picked
    }

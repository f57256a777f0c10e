"""The entries of the glossary that a scope shows, and those whose meaning a question asks for."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from ..domain import Chunk, Scope
from ..domain.glossary import SAMPLE_GLOSSARY, GlossaryEntry
from ..domain.protocols import Catalog, Store
from ..questions.reading import COUNTRY

Definition = tuple[GlossaryEntry, Chunk | None]
"""An entry, and the passage that defines it, if a report does."""
_MEANING = {
    "mean", "means", "meaning", "stand", "stands", "define", "definition", "significa", "significado", "definición",
    "definir", "signifie", "signification", "définition", "définir",
}  # fmt: skip
"""Words that ask for a meaning, in the languages of the page."""
_OPENING, _GENERIC = {"what", "whats"}, {"a", "an"}
_OTHERS = {"s", "is", "are", "does", "do", "for", "of", "the", "term", "word", "abbreviation", "acronym"}
_ASKING = _MEANING | _OPENING | _GENERIC | _OTHERS | {"qué", "que", "de", "la", "el", "le", "du"}
WORDS = re.compile(r"\w+")
LONGEST = 8
"""Words of a term."""


class Glossary:
    """Looks terms up. Thread-safe."""

    def __init__(
        self, entries: Callable[[], Sequence[GlossaryEntry]], catalog: Catalog, store: Callable[[], Store]
    ) -> None:
        self._entries = entries
        self._catalog = catalog
        self._store = store
        self._index: tuple[Sequence[GlossaryEntry], Mapping[str, Sequence[GlossaryEntry]]] = ((), {})

    def entries(self, scope: Scope) -> Sequence[GlossaryEntry]:
        """Return the entries without those of reports outside of the scope."""
        entries = self._entries()
        if all(entry.source in {"", SAMPLE_GLOSSARY} for entry in entries):
            return entries
        sources = {"", SAMPLE_GLOSSARY, *(record.id for record in self._catalog.all(scope) if record.visible_version)}
        return [entry for entry in entries if entry.source in sources]

    def define(self, text: str, scope: Scope) -> list[Definition]:
        """Return the meanings that a question asks for; none unless it names one term and nothing else.

        "What is X?" asks for a meaning where no scope says of which country.
        """
        words = WORDS.findall(text.casefold())
        named = _without_asking(words)
        asking = set(words) - set(named)
        is_generic = bool(asking & _OPENING) and "the" not in asking
        asks_meaning = asking & _MEANING or (is_generic and (asking & _GENERIC or scope.get(COUNTRY) is None))
        if not asks_meaning or len(named) > LONGEST or not (entries := self._by_name().get(" ".join(named))):
            return []
        visible = set(self.entries(scope))
        by_meaning = {entry.meaning: entry for entry in entries[::-1] if entry in visible}
        return [(entry, self._passage(entry, scope)) for entry in [*by_meaning.values()][::-1]]

    def _by_name(self) -> Mapping[str, Sequence[GlossaryEntry]]:
        """Index the entries by term, those of the samples last.

        Other words are names only of entries without a heading: those of a heading are ways to ask for its figures.
        """
        entries = self._entries()
        if self._index[0] is not entries:
            names: defaultdict[str, list[GlossaryEntry]] = defaultdict(list)
            for entry in sorted(entries, key=lambda entry: entry.source == SAMPLE_GLOSSARY):
                for name in (entry.term, *(() if entry.heading else entry.other_words)):
                    names[" ".join(_without_asking(WORDS.findall(name.casefold())))].append(entry)
            self._index = entries, names
        return self._index[1]

    def _passage(self, entry: GlossaryEntry, scope: Scope) -> Chunk | None:
        record = next((record for record in self._catalog.all(scope) if record.id == entry.source), None)
        if record is None or entry.passage is None:
            return None
        found = self._store().get([Chunk.make_id(record.id, record.visible_version, entry.passage)])
        return next((chunk for chunk in found if scope.matches(chunk.about)), None)


def _without_asking(words: Sequence[str]) -> Sequence[str]:
    """Leave out the asking words before and after the others."""
    kept = [place for place, word in enumerate(words) if word not in _ASKING]
    return words[kept[0] : kept[-1] + 1] if kept else []

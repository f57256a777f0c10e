"""Says what to do about a language that the search does not understand."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...domain import Chunk, SearchHit
from ...domain.protocols import Catalog, Embedder
from ...domain.scope import Scope, Values
from ...language.detection import language_of
from ...language.markdown import escape_markdown
from ...library.description import LANGUAGE_NOTE, unread_language
from ...models.chat.extractive import MAX_QUOTATIONS
from ...questions.sides import DOCUMENT
from ..turn import Turn

OTHER_LANGUAGE = (
    "The reports are in {language}, and the search does not understand other "
    "languages yet. Ask in {language}, or ask "
    "an administrator for a search in many languages."
)


@dataclass(frozen=True, slots=True)
class Advice:
    """Knows which languages the embedding model reads, and that of the reports."""

    embedder: Embedder
    catalog: Catalog
    language: str

    def is_foreign(self, query: str) -> bool:
        """Return whether a question is in another language than the reports, which the
        embedding model does not know.
        """
        if self.embedder.multilingual:
            return False
        return language_of(query, self.language) != self.language

    def on_language(self, turn: Turn, shown: Sequence[SearchHit]) -> str:
        """Return what to do about a question in another language than the passages
        that are ``shown``; "" if one of them is in its language, or if the embedder
        knows both.
        """
        if not turn.is_foreign:
            return ""
        asked = language_of(turn.question.query, self.language)
        for hit in shown[:MAX_QUOTATIONS]:
            # A short passage shows its language in its headings.
            if language_of(hit.chunk.search_text, self.language) == asked:
                return ""
        reports = self.language.capitalize()
        if self.language == "english":
            reports = turn.say("English")
        return turn.say(OTHER_LANGUAGE, language=reports)

    def on_language_of(self, turn: Turn, best: Chunk) -> str:
        """Return what to do if the embedder does not know the language of the best
        passage's report; "" if it does.
        """
        if language_of(best.text) == "english":
            # No report needs to be looked up.
            return ""
        named = self.catalog.all(Scope.of({DOCUMENT: Values((best.document_name,))}))
        of_passage = (one for one in named if one.id == best.document_id)
        record = next(of_passage, None)
        if record is None:
            return ""
        language = unread_language(record.proposed, self.embedder)
        if not language:
            return ""
        note = turn.say(LANGUAGE_NOTE, language=turn.say(language.capitalize()))
        return f"{escape_markdown(record.title)}: {note}"

"""Answers what a term means, from the glossary of the library."""

from dataclasses import dataclass

from ...domain import Context, Passage, SearchHit
from ...language.markdown import escape_markdown
from ...search.indicators import Glossary
from ...search.scope import summarise
from ..turn import Draft, Turn


@dataclass(frozen=True, slots=True)
class DefineTerm:
    """Gives the meanings of the terms asked for, with the passages that have them."""

    glossary: Glossary

    def run(self, turn: Turn) -> Draft | None:
        question = turn.question
        if question.attachments:
            return None
        definitions = self.glossary.define(question.search_text, question.scope)
        if not definitions:
            return None
        text = turn.say("From the glossary:")
        passages: list[Passage] = []
        for entry, chunk in definitions:
            term = escape_markdown(entry.term)
            text += f"\n\n**{term}**: {escape_markdown(entry.meaning)}"
            if chunk is not None:
                number = len(passages) + 1
                hit = SearchHit(chunk, rank=number)
                passages.append(Passage(number, hit, chunk.text))
                text += f" [{number}]"
        return Draft(
            text=text,
            scope=summarise(turn.catalog, question.scope),
            context=Context(tuple(passages)),
            is_answer=True,
            why="The glossary has what it asks.",
        )

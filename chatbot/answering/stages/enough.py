"""Judges whether what was found answers the question."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from ...domain import SearchHit
from ...domain.errors import SearchEngineError
from ...domain.scope import NamedCountry
from ...language.analysis import WORD_PATTERN
from ...language.markdown import escape_markdown
from ...language.statements import is_unavailable, states_none
from ...language.zones import zones_in
from ...models.chat.extractive import MAX_QUOTATIONS
from ...questions.kinds import asks_meaning
from ...questions.reading import MEANING_WORDS
from ...questions.telling_words import telling_words
from ...search.coverage import missing_words
from ...search.mentions import names_country
from ...search.relevance import Verdict
from ...search.scope import describe
from ...search.subjects import mentioned_countries
from ..dialogue import Dialogue
from ..tools.figures import FigureTool
from ..turn import Draft, Turn
from ..writers.nothing import NothingFound, years_missing


@dataclass(frozen=True, slots=True)
class IsEnough:
    """Ends a question for which nothing was found, and marks passages that only come
    close to it.
    """

    nothing: NothingFound
    figures: FigureTool

    def run(self, turn: Turn) -> Draft | None:
        if turn.dialogue is not None:
            return self._of_plan(turn, turn.dialogue)
        found = turn.found
        if found.is_enough or turn.mode is None:
            return None
        if turn.absent is not None:
            return self._of_absent(turn, turn.absent.countries)
        _leave_out_unavailable(turn)
        hits = found.hits
        empty = is_empty(turn, hits)
        if turn.mode.searches_often:
            if not empty or keep_naming(turn):
                return None
            return self.nothing.write(turn, found.closest)
        verdict = self._verdict(turn, hits, is_far=empty)
        if verdict == "nothing" and keep_naming(turn):
            return None
        if verdict != "answers" and not turn.has_model:
            _say_what_is_missing(turn, hits)
            hits = self._known(turn, hits, verdict)
        is_refused = verdict == "nothing" and turn.settings.on_empty != "relax"
        if is_refused or not hits:
            return self.nothing.write(turn, hits)
        turn.closest_only = verdict != "answers"
        return None

    def _known(
        self, turn: Turn, hits: list[SearchHit], verdict: Verdict
    ) -> list[SearchHit]:
        """Return the hits; none of a question of whose words no report has any, which
        is said: what is near to it is so by accident.
        """
        reading = turn.reading
        if verdict != "nothing" and not asks_meaning(reading.text):
            return hits
        if turn.is_foreign or reading.names or turn.unused:
            return hits
        words = list(telling_words(reading))
        if asks_meaning(reading.text):
            every = WORD_PATTERN.findall(reading.text)
            words = [word for word in every if word.lower() not in MEANING_WORDS]
        words = [word for word in words if turn.analyzer.terms(word)]
        if not turn.scope.documents:
            return hits
        scope = turn.question.scope.widest()
        for word in words:
            # Where no index of words answers, nobody knows that none has it.
            with suppress(SearchEngineError):
                if not self.figures.store.keyword_search(word, top_k=1, scope=scope):
                    continue
            return hits
        if not words:
            return hits
        shown = escape_markdown(" ".join(words))
        turn.events.notes.append(turn.say("No report has “{words}”.", words=shown))
        return []

    def _verdict(
        self, turn: Turn, hits: Sequence[SearchHit], *, is_far: bool
    ) -> Verdict:
        """Return whether hits answer the question, come close to it, or say nothing
        about it. ``is_far``: none is near enough, or of
        the right years.
        """
        if hits and (is_zone_asked(turn, hits) or self._is_row_named(turn, hits)):
            return "answers"
        if is_far:
            return "nothing"
        verdict = turn.judge.verdict(turn.reading, hits)
        if verdict == "nothing" and self._may_tell(turn, hits[0]):
            return "closest"
        return verdict

    def _may_tell(self, turn: Turn, hit: SearchHit) -> bool:
        """Return whether a doubtful passage may answer: a model can tell a doubt from
        a fact, and that there are none says something to whoever takes some for
        granted.
        """
        can_write = turn.has_model and not turn.is_general
        return can_write or states_none(hit.chunk.text)

    def _of_plan(self, turn: Turn, dialogue: Dialogue) -> Draft | None:
        """End a question for which the model's searches found nothing. Whether passages
        answer it, the model says itself.
        """
        if turn.found.hits or dialogue.passages or not dialogue.plan.queries:
            return None
        return self.nothing.write(turn, ())

    def _is_row_named(self, turn: Turn, hits: Sequence[SearchHit]) -> bool:
        """Return whether the question names a row of a table among the first hits: what
        few words of it have no equal there may be said in others.
        """
        chunks = [hit.chunk for hit in hits[:MAX_QUOTATIONS]]
        is_named = self.figures.rows.names_row(turn, chunks)
        return is_named and years_missing(turn, hits) is None

    def _of_absent(self, turn: Turn, countries: Sequence[NamedCountry]) -> Draft | None:
        """Keep the passages that name a country without a report. They only come close,
        unless a sentence has the country and what is asked. A language model may say of
        other passages that they do not answer.
        """
        found = turn.found
        naming = [hit for hit in found.hits if names_country(hit.chunk, countries)]
        if naming:
            found.keep_only(naming)
        turn.closest_only = not any(
            turn.judge.is_said_of(turn.reading, countries, hit) for hit in naming
        )
        if not turn.closest_only:
            return None
        # A person wants to know what is in the report that they chose.
        is_near = bool(found.hits) and not turn.judge.is_far(found.hits)
        is_chosen = turn.absent is not None and turn.absent.is_chosen
        can_write = bool(naming) or (turn.has_model and bool(found.hits))
        can_write = can_write or (is_chosen and is_near)
        if turn.is_general or not can_write:
            return self.nothing.write(turn, ())
        return None


def _leave_out_unavailable(turn: Turn) -> None:
    """Drop the hits whose values are all not available: "NA" answers nobody. A language
    model says that the report has no figure.
    """
    if turn.has_model:
        return
    hits = turn.found.hits
    turn.found.keep_only(hit for hit in hits if not is_unavailable(hit.chunk.text))


def keep_naming(turn: Turn) -> bool:
    """Keep the passages that name a country of the question without a report, as those
    that come closest; return False where there are none. Such a passage is never
    refused for its year or for a word that it lacks.
    """
    if turn.is_general:
        return False
    scope = turn.question.scope
    countries = mentioned_countries(turn.reading, scope, turn.catalog)
    naming = [hit for hit in turn.found.hits if names_country(hit.chunk, countries)]
    if naming:
        turn.found.keep_only(naming)
        turn.closest_only = True
    return bool(naming)


def is_zone_asked(turn: Turn, hits: Sequence[SearchHit]) -> bool:
    """Return whether the first hit is of a zone that the question asks for: a list of
    names or addresses has no words of "Who attended?".
    """
    is_of_zone = hits[0].chunk.zone in zones_in(turn.question.search_text)
    return is_of_zone and years_missing(turn, hits) is None


def _say_what_is_missing(turn: Turn, hits: Sequence[SearchHit]) -> None:
    """Say of a follow-up which of its own words nothing was found on, beside the
    subject that it took over.
    """
    earlier = turn.events.earlier_scope
    if not earlier:
        return
    texts = [hit.chunk.search_text for hit in hits]
    turn.unused = missing_words(turn.own_words, texts, turn.analyzer.terms)
    if not turn.unused:
        return
    text = "The reports for {scope} were searched, but nothing was found on “{words}”."
    turn.events.notes.append(
        turn.say(
            text,
            scope=escape_markdown(describe(earlier, turn.say)),
            words=escape_markdown(" ".join(turn.unused)),
        )
    )


def is_empty(turn: Turn, hits: Sequence[SearchHit]) -> bool:
    """Return whether no hit is near enough (RELEVANCE_FLOOR) and of the right years."""
    if not hits:
        return True
    if turn.settings.on_empty == "relax":
        return False
    # Whoever names a report wants to know what that says.
    is_far = turn.reading.document is None and turn.judge.is_far(hits)
    return is_far or years_missing(turn, hits) is not None

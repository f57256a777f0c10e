"""Whether hits answer a question: bounds of a score, raised by doubts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from chatbot.domain import Chunk, Holdings, Scope, SearchHit, Values
from chatbot.domain.reading import Reading
from chatbot.questions.reading import read_names
from chatbot.search.relevance import LARGE, MOST_LOOKED_UP, Bounds, Judge

KNOWN = "people births deaths fast population grows growth rate"
BOUNDS = Bounds(0.6, 0.7)


class Library:
    """A store and a catalog of so many passages, whose words are `KNOWN`."""

    def __init__(self, passages: int) -> None:
        self.passages = passages
        self.asked: list[str] = []
        self.scopes: set[Scope] = set()

    def keyword_search(self, query: str, *, scope: Scope, **_: Any) -> list[str]:
        self.asked.append(query)
        self.scopes.add(scope)
        return [query] if query.lower() in KNOWN.split() else []

    def values(self, field: str, scope: Any = None) -> list[str]:
        return ["Kenya"]

    def all(self, scope: Any = None) -> list[Any]:
        return []

    def holdings(self, scope: Any) -> Holdings:
        return Holdings(chunks=self.passages)


def judge(bounds: Bounds = BOUNDS, passages: int = LARGE, *, multilingual: bool = False) -> tuple[Judge, Library]:
    library: Any = Library(passages)
    embedder: Any = SimpleNamespace(multilingual=multilingual)
    return Judge(bounds, library, library, embedder, "english"), library


def read(question: str) -> Reading:
    catalog: Any = Library(0)
    return read_names(question, catalog)


KENYA = Scope.of({"country_name": Values(("Kenya",))})


def hits(score: float, heading: float | None = None) -> list[SearchHit]:
    chunk = Chunk("a", "d", "r.md", "Report", "The population grows fast.")
    return [SearchHit(chunk, score=score, heading_score=heading)]


@pytest.mark.parametrize(("doubts", "least"), [(0, 0.6), (0.5, 0.65), (1, 0.7), (2, 0.75), (2.5, 0.775)])
def test_each_doubt_asks_for_more(doubts: float, least: float) -> None:
    assert BOUNDS.least(doubts) == pytest.approx(least)
    assert Bounds(0.9, 0.9).least(doubts) == 0.9


@pytest.mark.parametrize(
    ("question", "heading", "score", "verdict"),
    [
        ("How fast does the population of Kenya grow?", 0.8, 0.61, "answers"),
        ("How fast does the population of Kenya grow?", 0.8, 0.59, "nothing"),
        ("How fast does the population of Kenya grow?", None, 0.61, "answers"),
        ("How fast does the population of Kenya grow?", 0.6, 0.61, "answers"),  # the first hit says all of it
        ("How fast do births grow in Kenya?", 0.6, 0.65, "nothing"),  # not all, and a heading about something else
        ("How fast do births grow in Kenya?", 0.6, 0.7, "closest"),
        ("How fast do births grow in Kenya?", 0.6, 0.79, "answers"),
        ("How fast does the population yodel?", 0.8, 0.69, "nothing"),  # no report has the word
        ("How fast does the population yodel?", 0.8, 0.71, "closest"),
        ("How many births does Kenya have?", 0.8, 0.69, "closest"),  # a word of the library, in no hit
        ("How many births does Kenya have?", 0.8, 0.61, "nothing"),
        ("What is the rate of Kenya?", 0.8, 0.61, "answers"),  # a word of any question
        ("Population of Kenya in 2023, Zimbabwe?", 0.8, 0.61, "answers"),  # names are no words
        ("yodel yodelling", 0.6, 0.72, "nothing"),
        ("yodel yodelling", 0.6, 0.9, "answers"),
    ],
)
def test_verdicts(question: str, heading: float | None, score: float, verdict: str) -> None:
    assert judge()[0].verdict(read(question), hits(score, heading), KENYA) == verdict


def test_no_hits_are_nothing_and_without_a_band_only_the_floor_counts() -> None:
    assert judge()[0].verdict(read("births"), [], KENYA) == "nothing"
    asked, library = judge(Bounds(0.6, 0.6))
    assert [asked.verdict(read("yodel"), hits(score, 0.1), KENYA) for score in (0.59, 0.61)] == ["nothing", "answers"]
    assert library.asked == []


def test_in_a_small_library_an_unknown_word_says_less() -> None:
    small, large = judge(passages=LARGE - 1)[0], judge()[0]
    question = "Does the population grow so fast that people yodel?"
    assert (small.verdict(read(question), hits(0.66), KENYA), large.verdict(read(question), hits(0.66), KENYA)) == (
        "closest",
        "nothing",
    )


@pytest.mark.parametrize(
    ("question", "verdict"),
    [("¿Cuál es la tasa de natalidad?", "answers"), ("معدل المواليد", "answers"), ("Do they yodel a lot?", "nothing")],
)
def test_a_model_for_many_languages_judges_words_in_that_of_the_reports_alone(question: str, verdict: str) -> None:
    assert judge(multilingual=True)[0].verdict(read(question), hits(0.66), KENYA) == verdict


def test_where_reports_are_of_countries_a_question_about_none_needs_more() -> None:
    asked = judge()[0]
    question, near = "How fast does the population grow?", hits(0.64)
    assert [asked.verdict(read(question), near, scope) for scope in (Scope(), KENYA)] == ["nothing", "answers"]
    assert asked.verdict(read("How fast does the population of Kenya grow?"), near, Scope()) == "answers"


def test_of_a_long_question_few_words_are_looked_up_and_only_where_who_asks_may_look() -> None:
    limited = Scope(KENYA.conditions, limit=KENYA.conditions)
    asked, library = judge()
    question = "births deaths rate " * 3 + " ".join(f"births{'x' * n}" for n in range(500))
    asked.verdict(read(question), hits(0.7, 0.8), limited)
    assert len(library.asked) <= MOST_LOOKED_UP
    assert library.scopes == {limited}

"""Whether hits answer a question: how near the best passage and heading are, against
doubts.
"""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from chatbot.domain import Chunk, SearchHit
from chatbot.domain.figures import GlossaryEntry
from chatbot.domain.scope import Reading
from chatbot.models.embed.minilm import MiniLMEmbedder
from chatbot.questions.reading import read_names
from chatbot.search.relevance import Bounds, Judge
from tests.data import cases

CASES = cases(__file__)
ENTRY = GlossaryEntry("work", "", ("job", "employees"), "Population")
BAND = Bounds(0.6, 0.7)
EMBEDDER = MiniLMEmbedder()


def judge(
    bounds: Bounds = BAND,
    *,
    multilingual: bool = False,
    local: bool = True,
    language: str = "english",
) -> Judge:
    embedder: Any = SimpleNamespace(
        multilingual=multilingual,
        local=local,
        embed_query=EMBEDDER.embed_query,
        embed_documents=EMBEDDER.embed_documents,
    )
    return Judge(bounds, embedder, language, lambda: [ENTRY])


def read(question: str) -> Reading:
    return read_names(
        question,
        cast(
            Any,
            SimpleNamespace(
                values=lambda *_: ["Kenya"], all=lambda *_: [], groups=lambda: []
            ),
        ),
    )


def hits(score: float, heading: float | None = None) -> list[SearchHit]:
    chunk = Chunk(
        "a",
        "d",
        "r.md",
        "Report",
        "It grows fast: births exceed deaths.",
        section="People › Population",
    )
    return [SearchHit(chunk, score=score, heading_score=heading)]


@pytest.mark.parametrize(("question", "score", "heading", "verdict"), CASES["verdicts"])
def test_the_verdict_follows_score_and_heading(
    question: str, score: float, heading: float | None, verdict: str
) -> None:
    assert judge().verdict(read(question), hits(score, heading)) == verdict


def test_without_an_embedder_in_this_process_missing_words_count_by_their_share() -> (
    None
):
    questions = [
        read(f"How high is {topic} in Kenya?")
        for topic in ("the wage of teachers", "population growth")
    ]
    assert [judge(local=False).verdict(one, hits(0.72, 0.74)) for one in questions] == [
        "nothing",
        "answers",
    ]


def test_no_hits_are_nothing_and_without_a_band_only_the_floor_counts() -> None:
    assert judge().verdict(read("births"), []) == "nothing"
    asked = judge(Bounds(0.6, 0.6))
    assert [
        asked.verdict(read("wages"), hits(score, 0.1)) for score in (0.59, 0.61)
    ] == ["nothing", "answers"]


@pytest.mark.parametrize(
    "question", ["¿Cuál es la tasa de natalidad?", "معدل المواليد"]
)
def test_a_question_in_another_language_is_judged_by_scores_alone(
    question: str,
) -> None:
    assert judge(multilingual=True).verdict(read(question), hits(0.72)) == "answers"
    assert judge(multilingual=True).verdict(read(question), hits(0.66)) == "closest"


def test_an_embedder_of_one_language_finds_only_the_closest_in_another() -> None:
    assert (
        judge().verdict(read("¿Cuál es la tasa de natalidad?"), hits(0.9)) == "closest"
    )
    assert (
        judge(language="spanish").verdict(
            read("¿Cuál es la tasa de natalidad?"), hits(0.9, 0.9)
        )
        == "answers"
    )


LEAK = "Call the porter about a leak. The porter is in by day. Keys go to the board."


def house_rules(score: float = 0.7, heading: float | None = None) -> list[SearchHit]:
    """Return passages of a document, the nearest first with its ``score``; ``heading``
    is that of its heading, None where those of the document name no figures.
    """
    first = Chunk("a", "d", "r.md", "Rules", LEAK, section="Repairs")
    other = Chunk("b", "d", "r.md", "Rules", "Cats are allowed.", section="Pets")
    return [
        SearchHit(first, score=score, keyword_score=5.0, heading_score=heading),
        SearchHit(other, score=0.55, keyword_score=1.0, heading_score=heading),
    ]


@pytest.mark.parametrize(
    ("question", "score", "heading", "verdict"),
    [
        ("Are keys with the porter by day?", 0.7, None, "answers"),
        ("Are keys with the porter by day?", 0.7, 0.5, "closest"),
        # It is near, but most of what is asked is missing.
        ("Are keys with a helpful person?", 0.85, None, "closest"),
        ("Are keys with a helpful person?", 0.85, 0.9, "answers"),
    ],
)
def test_where_no_heading_names_a_figure_the_words_of_the_first_passage_count(
    question: str, score: float, heading: float | None, verdict: str
) -> None:
    found = house_rules(score, heading)
    assert judge().verdict(read(question), found) == verdict


def test_the_second_passage_that_is_quoted_answers_as_well() -> None:
    question = read("Are keys with the porter by day?")
    right, other = house_rules()
    assert judge().verdict(question, [other, right]) == "answers"
    elsewhere = replace(other.chunk, document_id="e")
    found = [replace(other, chunk=elsewhere), right]
    assert judge().verdict(question, found) == "closest"


@pytest.mark.parametrize(
    ("question", "verdict"),
    [
        ("Who may keep cats at Tern Bridge Hall by day?", "answers"),
        ("Who may keep cats at Palm Street Hall by day?", "closest"),
    ],
)
def test_a_name_that_its_document_has_elsewhere_is_not_missing_in_a_passage(
    question: str, verdict: str
) -> None:
    rules = house_rules(0.8)[0].chunk
    head = replace(rules, id="c", text="House rules of Tern Bridge Hall.", section="")
    pets = replace(rules, text="Tenants may keep cats, by day.", section="Pets")
    found = [SearchHit(pets, score=0.8), SearchHit(head, score=0.7)]
    assert judge().verdict(read(question), found) == verdict
    elsewhere = SearchHit(replace(head, document_id="e"), score=0.7)
    assert judge().verdict(read(question), [found[0], elsewhere]) != "answers"


@pytest.mark.parametrize(
    ("question", "verdict"),
    [
        ("When did the meeting start?", "answers"),
        ("When did the meeting vote?", "closest"),
    ],
)
def test_a_word_that_a_passage_says_in_another_is_not_missing(
    question: str, verdict: str
) -> None:
    chunk = replace(
        house_rules()[0].chunk, text="The club commenced at 7:55.", section="Opening"
    )
    meeting = replace(chunk, id="b", text="The meeting was short.", section="End")
    found = [SearchHit(chunk, score=0.8), SearchHit(meeting, score=0.6)]
    assert judge().verdict(read(question), found) == verdict
    assert judge(local=False).verdict(read(question), found) == "closest"


@pytest.mark.parametrize(("heading", "verdict"), [(None, "closest"), (0.7, "nothing")])
def test_a_rule_may_hold_for_a_city_that_it_does_not_name(
    heading: float | None, verdict: str
) -> None:
    found = house_rules(0.8, heading)
    question = read("Are keys with the porter in Zanzibar?")
    assert judge().verdict(question, found) == verdict


@pytest.mark.parametrize(
    ("question", "verdict"),
    [
        ("What must I do about a leak?", "answers"),
        ("Must I paint my ceiling?", "nothing"),
        ("Should I call about a leak?", "nothing"),
    ],
)
def test_a_duty_that_a_passage_states_is_no_advice(question: str, verdict: str) -> None:
    assert judge().verdict(read(question), house_rules()) == verdict


@pytest.mark.parametrize(
    ("question", "verdict"),
    [
        ("Which club came in April 2024?", "answers"),
        ("Which club came in August 2024?", "nothing"),
        ("Which club came in April 2023?", "nothing"),
    ],
)
def test_a_month_is_read_in_dates_of_digits(question: str, verdict: str) -> None:
    text = "2024-04, came: Rotary club. 2024-05, came: Chess club."
    chunk = Chunk("a", "d", "r.csv", "Visits", text, section="Visits", statements=())
    found = [SearchHit(chunk, score=0.72, heading_score=0.7)]
    assert judge().verdict(read(question), found) == verdict

"""Score distributions: what is collected, and the floor and threshold that follow."""

import random
from pathlib import Path

import pytest

from chatbot.app.services import Services
from chatbot.domain import Scope
from chatbot.domain.errors import LoadError
from chatbot.domain.scope import Values
from chatbot.extras.evaluation.dataset import Dataset, EvaluationQuery, Expectation
from chatbot.extras.evaluation.runner import (
    FEWEST,
    UNRELATED_QUESTIONS,
    Scores,
    collect_scores,
)
from tests.conftest import AddReport


def normal(mean: float, deviation: float, count: int) -> tuple[float, ...]:
    drawn = random.Random(3)
    return tuple(drawn.gauss(mean, deviation) for _ in range(count))


def scores(count: int = 400) -> Scores:
    return Scores(
        normal(0.8, 0.03, count),
        normal(0.6, 0.03, count),
        normal(0.8, 0.04, count),
        normal(0.6, 0.04, count),
    )


def test_errors_at_a_value_are_counted_by_hand() -> None:
    """A score at the value is accepted by a floor and cut by a threshold, as in
    retrieval.
    """
    few = Scores((0.6, 0.7), (0.5, 0.6, 0.7, 0.8), (0.7, 0.8), (0.7, 0.75, 0.2, 0.3))
    rates = few.errors(0.7)
    assert (rates.refused, rates.accepted, rates.cut, rates.kept) == (
        0.5,
        0.5,
        0.5,
        0.25,
    )


def test_the_floor_costs_about_one_in_a_hundred_and_less_with_few_questions() -> None:
    """400 draws from N(.8, .03): the 1st percentile is .73; the limit lies a little
    below.
    """
    floor = scores().floor
    assert 0.70 <= floor <= 0.73
    assert scores().errors(floor).refused <= 0.01
    few = normal(0.8, 0.03, 12)
    assert Scores(few, (), (), ()).floor < Scores(few * 30, (), (), ()).floor - 0.02


def test_the_threshold_parts_the_passages_where_the_fewest_are_wrong() -> None:
    assert scores().threshold == pytest.approx(0.7, abs=0.02)
    clear = Scores((0.8,) * 10, (), (0.9, 0.91), (0.4, 0.41))
    assert 0.41 <= clear.threshold < 0.9


def test_a_calibration_says_what_it_stands_on() -> None:
    found = scores().calibration("test:model", dataset="mine", date="2026-01-02")
    assert (found.model_id, found.origin, found.dataset, found.date) == (
        "test:model",
        "measured",
        "mine",
        "2026-01-02",
    )
    assert found.pairs == {
        "answerable": 400,
        "unrelated": 400,
        "relevant": 400,
        "irrelevant": 400,
    }
    values = [rates.value for rates in found.errors]
    assert values == sorted(values)
    assert {0.5, 0.95, found.floor, found.threshold} <= set(values)


@pytest.fixture
def reports(services: Services, add_report: AddReport) -> Services:
    """Kenya in two years, and Mali: each with a section on zebras and one on rivers."""
    for country, year in (("Kenya", 2021), ("Kenya", 2023), ("Mali", 2023)):
        text = (
            f"# {country} {year}\n\n## Zebras\n\nzebra herds {year}\n\n## Rivers\n\n"
            "river water\n"
        )
        add_report(text, f"{country}-{year}", country_name=country, year=year)
    return services


def questions(services: Services, answer: str, count: int = FEWEST) -> Dataset:
    scope = Scope.of({"country_name": Values(("Kenya",)), "year": Values((2023,))})
    (kenya,) = services.storage.documents.all(scope)
    query = EvaluationQuery(
        "q", "zebra herds 2023", scope, (Expectation(kenya.id, None, answer),)
    )
    return Dataset("mine", [], [query] * count)


@pytest.mark.usefixtures("reports")
def test_what_belongs_together_is_told_from_what_does_not(services: Services) -> None:
    steps: list[int] = []
    found = collect_scores(services, questions(services, "zebra herds"), steps.append)
    assert sum(steps) == FEWEST + len(UNRELATED_QUESTIONS)
    assert len(found.answerable) == len(found.relevant) == FEWEST
    assert len(found.unrelated) == len(UNRELATED_QUESTIONS)
    # Of Mali alone: another year of Kenya may have the same answer. Two passages each
    # time.
    assert len(found.irrelevant) == 2 * FEWEST
    assert min(found.answerable) >= max(found.relevant) > min(found.irrelevant)
    vector = services.runtime.embedder.embed_query("zebra herds 2023")
    scope = questions(services, "").queries[0].scope
    (zebras,) = services.runtime.store.vector_search(vector, top_k=1, scope=scope)
    assert found.relevant[0] == pytest.approx(zebras.score, abs=1e-5)
    assert (
        collect_scores(
            services, questions(services, "zebra herds"), steps.append
        ).unrelated
        == found.unrelated
    )


@pytest.mark.parametrize(
    ("answer", "count", "message"),
    [("zebra", 9, "9 questions with an answer"), ("lion", 10, "no passage contains")],
)
def test_what_is_not_enough(
    reports: Services, answer: str, count: int, message: str
) -> None:
    with pytest.raises(LoadError, match=message):
        collect_scores(reports, questions(reports, answer, count), lambda n: None)


def test_the_shipped_unrelated_questions_are_questions_that_no_sample_answers() -> None:
    """No report is on any of them: spot words that would give it away."""
    texts = UNRELATED_QUESTIONS
    assert len(set(texts)) == len(texts) >= 20
    assert all(text.endswith("?") for text in texts)
    folder = Path(__file__).parents[3] / "sample_data"
    text = " ".join(
        path.read_text(encoding="utf-8").casefold() for path in folder.glob("*/*.md")
    )
    for word in (
        "sourdough",
        "casablanca",
        "decorator",
        "vinaigrette",
        "sherlock",
        "buttonhole",
        "plasterboard",
    ):
        assert word not in text

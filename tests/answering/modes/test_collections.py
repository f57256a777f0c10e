"""Routing by descriptions (R-C5): one call where there is a choice, and never out of
what the person allowed.
"""

from collections.abc import Iterator

import pytest

from chatbot.domain import Scope
from chatbot.domain.scope import Values
from chatbot.library.pipeline import Registration
from tests.answering.modes.bench import COLLECTIONS, Bench, Told, add, bench
from tests.conftest import KENYA_2023, ingest_file, write_report
from tests.fakes.scripted_model import ScriptedModel

QUESTION = "What is the population of Kenya?"
ARCHIVE = KENYA_2023.replace("52,428,290", "38,610,097").replace("2023", "2009")


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Two collections with a description, beside the general one."""
    folder = tmp_path_factory.mktemp("two")
    with bench(folder, collections=COLLECTIONS) as opened:
        path = write_report(folder / "old", ARCHIVE, "kenya-2009")
        about = Registration(collection="archive")
        ingest_file(
            opened.services,
            path,
            "test/kenya-2009",
            about,
            country_name="Kenya",
            year=2009,
        )
        yield opened


def picks(*numbers: int) -> ScriptedModel:
    return ScriptedModel(collections=f'{{"numbers": {list(numbers)}}}')


def years(told: Told) -> set[int | str]:
    return {hit.chunk.metadata["year"] for hit in told.answer.trace.hits}


@pytest.mark.parametrize("mode", ["deep", "chain", "compare", "report", "auto"])
def test_one_call_picks_where_is_searched(two: Bench, mode: str) -> None:
    query = (
        "Compare the population of Kenya in 2009 and 2023"
        if mode == "compare"
        else QUESTION
    )
    told = two.ask(mode, picks(2), query)
    assert told.stages.count("collections") == 1
    assert told.items("collections") == ["chatbot_data", "archive"]
    assert years(told) <= {2009}


@pytest.mark.parametrize(
    ("numbers", "found"),
    [((1,), {2021, 2023}), ((2,), {2009}), ((1, 2), {2009, 2021, 2023})],
)
def test_what_is_picked_is_searched_beside_the_general_collection(
    two: Bench, numbers: tuple[int, ...], found: set[int]
) -> None:
    assert years(two.ask("deep", picks(*numbers), "What is the population?")) == found


def test_direct_is_never_routed(two: Bench) -> None:
    told = two.ask("direct", picks(2), QUESTION)
    assert told.stages == ["answer"]
    assert 2023 in years(told)


@pytest.mark.parametrize("said", ["no idea", '{"numbers": []}', '{"numbers": [7]}'])
def test_what_cannot_be_read_or_picks_nothing_leaves_all(two: Bench, said: str) -> None:
    told = two.ask("deep", ScriptedModel(collections=said), "What is the population?")
    assert years(told) == {2009, 2021, 2023}


def test_the_persons_own_choice_is_not_left(two: Bench) -> None:
    """One collection: no call. Two: the model may only pick among them."""
    own = Scope().within(["archive"])
    told = two.ask("deep", picks(1), QUESTION, scope=own)
    assert "collections" not in told.stages
    assert years(told) == {2009}
    told = two.ask(
        "deep", picks(1), QUESTION, scope=Scope().within(["archive", "report_chatting"])
    )
    assert told.items("collections") == ["report_chatting"]
    assert told.answer.scope.scope.collections == ("archive", "report_chatting")


def test_the_filter_holds_in_each(two: Bench) -> None:
    scope = Scope.of({"year": Values((2009,))})
    assert years(two.ask("deep", picks(1, 2), QUESTION, scope=scope)) == {2009}
    told = two.ask("deep", picks(1), QUESTION, scope=scope)
    assert years(told) == set()
    assert not told.answer.answered


@pytest.mark.parametrize("described", ["", "report_chatting: Country reports"])
def test_no_choice_no_call(
    tmp_path_factory: pytest.TempPathFactory, described: str
) -> None:
    with bench(tmp_path_factory.mktemp("one"), collections=described) as opened:
        assert "collections" not in opened.ask("deep").stages


def test_without_a_model_all_are_searched(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("keyless")
    with bench(
        folder, collections=COLLECTIONS, chat_model="extractive", refine=False
    ) as opened:
        add(
            opened.services,
            folder,
            ARCHIVE,
            "kenya-2009",
            country_name="Kenya",
            year=2009,
            type="country_report",
        )
        told = opened.ask("deep", query="Has the population been counted?")
    assert told.stages == []
    assert years(told) == {2009, 2021, 2023}


def test_what_is_not_found_names_where_was_searched(two: Bench) -> None:
    """Not "all reports": the collection that was not picked may have it."""
    none = ScriptedModel(collections='{"numbers": [2]}', relevance='{"numbers": []}')
    told = two.ask("deep", none, QUESTION)
    assert told.answer.response.startswith(
        "The reports searched (the collections archive and chatbot_data) do not"
    )

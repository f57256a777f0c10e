"""A country that no report is about is refused only where no passage names it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from chatbot.app.services import Services, build
from chatbot.domain import Answer, Question, RequestContext, Scope
from chatbot.domain.scope import Values
from tests.conftest import small_settings, write_report
from tests.library.helpers import ingest

TRADE = """# Kenya: Country Report 2023

## Economy

### Exports

The tea exports to Pakistan reached 500 million dollars in 2022.

### Partners

Uganda 12%, Pakistan 8%

## People

### Population

52,428,290 (2023 est.)

## Geography

### Land boundaries

total: 3,457 km

border countries: Somalia 684 km; Tanzania 775 km

### Elevation

highest point: Mount Kenya 5,199 m
"""
SUDAN = """# Sudan: Country Report 2023

## Economy

### Oil

Oil worth 1 billion dollars is sold to China.
"""


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Services]:
    settings = small_settings(tmp_path / "data", chat_model="extractive")
    with build(settings) as services:
        for country, text in (("Kenya", TRADE), ("Sudan", SUDAN)):
            path = write_report(tmp_path, text, country.lower())
            about = {"country_name": country, "year": 2023}
            ingest(services, path, about, identity=f"uploads/{country}.md")
        yield services


def asked(
    services: Services,
    query: str,
    scope: Scope | None = None,
    mode: str = "direct",
    language: str = "en",
) -> Answer:
    question = Question(
        query,
        scope=scope or Scope(),
        top_k=5,
        retrieval_method="hybrid",
        mode=mode,
        auto_scope=True,
        language=language,
    )
    return services.everything.flow.answer(question, request=RequestContext())


def countries_of(answer: Answer) -> set[object]:
    return {one.hit.chunk.country_name for one in answer.citations}


def test_a_country_that_no_passage_names_is_refused_without_a_search(
    library: Services,
) -> None:
    answer = asked(library, "What is the population of Norway?")
    assert answer.response == (
        "There is no report on Norway. There are reports on Kenya, Sudan."
    )
    assert (answer.answered, answer.trace.hits) == (False, ())


def test_a_country_that_passages_name_is_searched_for_and_quoted_as_closest(
    library: Services,
) -> None:
    answer = asked(library, "What is the population density of Uganda?")
    assert answer.response.startswith(
        "There is no report on Uganda; one passage names it.\n\n"
        "The reports do not answer this directly. Closest passages:"
    )
    assert "Uganda 12%" in answer.response
    assert "52,428,290" not in answer.response
    assert (answer.answered, answer.trace.closest_only) == (False, True)


@pytest.mark.parametrize(
    ("query", "is_about_country"),
    [
        ("How many boats did the Norway Rescue Society buy?", False),
        ("How many boats did Norway buy?", True),
    ],
)
def test_the_name_of_an_organisation_asks_about_no_country(
    library: Services, tmp_path: Path, query: str, is_about_country: bool
) -> None:
    text = "# Annual Accounts\n\nThe Norway Rescue Society bought 12 boats.\n"
    ingest(library, write_report(tmp_path, text, "accounts"), {})
    answer = asked(library, query)
    assert "12 boats" in answer.response
    assert ("There is no report on Norway" in answer.response) == is_about_country
    assert answer.trace.closest_only == is_about_country


def test_a_sentence_with_the_country_and_what_is_asked_answers(
    library: Services,
) -> None:
    answer = asked(library, "Pakistan: tea exports in dollars?")
    assert answer.response.startswith(
        "There is no report on Pakistan; 2 passages name it.\n\n"
    )
    assert "500 million dollars" in answer.response
    assert (answer.answered, answer.trace.closest_only) == (True, False)


@pytest.mark.parametrize(
    ("query", "unused"),
    [
        ("How many km of border does Kenya share with Norway?", ("Norway",)),
        ("How long is the border of Kenya with Norway?", ("Norway",)),
        ("How many km of border does Kenya share with Somalia?", ()),
    ],
)
def test_a_whole_does_not_stand_for_the_part_of_another_country(
    library: Services, query: str, unused: tuple[str, ...]
) -> None:
    answer = asked(library, query, mode="auto")
    assert "684 km" in answer.response
    assert answer.trace.unused == unused
    assert answer.trace.closest_only == bool(unused)


def test_a_quoted_figure_is_given_in_the_unit_that_is_asked_for(
    library: Services,
) -> None:
    answer = asked(library, "How many feet up is the top elevation of Kenya?")
    assert "5,199 m (2023 edition) = 17,057 feet [1]" in answer.response
    assert "“highest point: Mount Kenya 5,199 m”" in answer.response
    assert answer.answered


def test_where_no_near_passage_names_the_country_its_name_is_searched_for(
    library: Services,
) -> None:
    answer = asked(library, "Uganda or Pakistan: which is richer?", mode="auto")
    assert answer.response.startswith(
        "There is no report on Uganda; one passage names it. "
        "There is no report on Pakistan; 2 passages name it.\n\n"
    )
    assert "Uganda 12%, Pakistan 8%" in answer.response
    assert not answer.answered


@pytest.mark.parametrize(
    "query",
    [
        "What did Pakistan sell to Kenya in 2015?",
        "What did Kenya buy from Pakistan in 2015?",
        "How many ships did Kenya build for Pakistan in 2015?",
    ],
)
def test_a_passage_that_names_the_country_is_not_refused_for_its_year(
    library: Services, query: str
) -> None:
    answer = asked(library, query, mode="auto")
    assert "Pakistan" in answer.citations[0].hit.chunk.text


def test_a_report_chosen_by_hand_shows_what_comes_closest_on_any_country(
    library: Services,
) -> None:
    [record] = [one for one in library.storage.documents.all() if "Kenya" in one.title]
    chosen = Scope.of({"document_name": Values((record.name,))})
    answer = asked(library, "What is the population of Norway?", chosen)
    assert answer.response.startswith("There is no report on Norway.")
    assert countries_of(answer) == {"Kenya"}
    assert (answer.answered, answer.trace.closest_only) == (False, True)


def test_a_misspelt_word_is_searched_as_it_was_meant_which_is_told(
    library: Services,
) -> None:
    answer = asked(library, "What is the populatoin of Kenya?")
    assert answer.response.startswith("(populatoin: taken as population)\n\n")
    assert "52,428,290" in answer.response


def test_a_word_that_a_passage_of_the_scope_has_is_no_mistake(
    library: Services, tmp_path: Path
) -> None:
    text = "# Kenya: Country Report 2024\n\n## Slips\n\nA populatoin is a small lake.\n"
    path = write_report(tmp_path, text, "slips")
    ingest(library, path, {"country_name": "Kenya"}, identity="uploads/slips.md")
    answer = asked(library, "What is a populatoin in Kenya?")
    assert "taken as" not in answer.response
    assert "small lake" in answer.response


def test_a_catalogue_has_no_report_on_what_is_only_named(library: Services) -> None:
    answer = asked(library, "Which reports do you have on Uganda?")
    assert answer.response.startswith(
        "There is no report on Uganda; one passage names it. There are reports on"
    )
    assert answer.trace.hits == ()


@pytest.mark.parametrize("field", ["document_name", "country_name"])
def test_a_report_chosen_by_hand_is_searched_for_any_country_that_it_names(
    library: Services, field: str
) -> None:
    [record] = [one for one in library.storage.documents.all() if "Kenya" in one.title]
    value = {"document_name": record.name, "country_name": "Kenya"}[field]
    chosen = Scope.of({field: Values((value,))})
    answer = asked(library, "What is the population density of Uganda?", chosen)
    assert "Uganda 12%" in answer.response
    assert countries_of(answer) == {"Kenya"}


def test_reports_that_nobody_has_looked_through_never_refuse_beside_others(
    library: Services,
) -> None:
    documents = library.storage.documents
    kenya, sudan = documents.all()
    query = "What is the population of Norway?"
    documents.put(replace(kenya, mentions=None))
    mixed = asked(library, query)
    assert mixed.response.startswith("There is no report on Norway.\n\n")
    assert (mixed.answered, mixed.trace.stages[-1].name) == (False, "enough")
    # A library as an older release left it refuses as that did.
    documents.put(replace(sudan, mentions=None))
    older = asked(library, query)
    assert older.response.startswith("There is no report on Norway. There are")
    assert older.trace.stages[-1].name == "missing"


def test_a_country_is_not_answered_with_one_whose_name_is_part_of_its_own(
    library: Services,
) -> None:
    for query in (
        "Who buys oil from South Sudan?",
        "Who buys South Sudanese oil?",
        "Who buys oil from S. Sudan?",
        "Qui achète le pétrole (oil) du Soudan du Sud ?",
    ):
        answer = asked(library, query)
        assert "China" not in answer.response
        assert "Sudan" not in countries_of(answer)
    assert "China" in asked(library, "Who buys oil from Sudan?").response


@pytest.mark.parametrize(
    ("language", "refusal"),
    [
        ("fr", "Il n'y a aucun rapport sur Norvège. Il y a des rapports sur Kenya"),
        ("es", "No hay ningún informe sobre Noruega. "),
        ("pt", "Não há relatório sobre Noruega. Há relatórios sobre Quênia"),
    ],
)
def test_countries_are_named_in_the_language_of_the_page(
    library: Services, language: str, refusal: str
) -> None:
    query = "What is the population of Norway?"
    answer = asked(library, query, language=language)
    assert answer.response.startswith(refusal)


REPORT = "# {name}: Country Report 2023\n\n## People\n\n### Population\n\n{people}\n"
AREA = "\n## Geography\n\n### Area\n\ntotal: {area} sq km\n"
WELLS = "# Wells\n\n## Wells of Chad\n\n### Wells dug\n\n12 (2023)\n"


def test_a_country_without_a_report_of_figures_is_not_said_to_lack_one(
    library: Services, tmp_path: Path
) -> None:
    """Peru has other figures of the reports; an own file is about wells in Chad."""
    texts = {
        "Mali": REPORT.format(name="Mali", people="20,137,527 (2023 est.)"),
        "Peru": "# Peru: Country Report 2023\n",
        "Fiji": REPORT.format(name="Fiji", people="936,375 (2023 est.)"),
        "Chad": WELLS,
    }
    for country, text in texts.items():
        whole = text if country == "Chad" else text + AREA.format(area=18_274)
        path = write_report(tmp_path, whole, country.lower())
        about = {"country_name": country, "year": 2023}
        ingest(library, path, about, identity=f"uploads/{country}.md")
    answer = asked(library, "Which country has the highest population?")
    assert "1. Kenya: 52,428,290" in answer.response
    assert "1 of 4 countries do not state it: Peru." in answer.response

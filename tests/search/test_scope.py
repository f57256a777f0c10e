"""From a client's filters to a scope: typed, whitelisted, checked against the data
(R-D4).
"""

from collections.abc import Callable
from typing import Any

import pytest

from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.database.repositories.documents import DocumentRepository
from chatbot.domain import DocumentRecord, Range, Scope
from chatbot.domain.errors import InvalidRequestError
from chatbot.domain.scope import Values
from chatbot.search.scope import (
    MAX_NAMES_IN_PROMPT,
    KnowledgeCollection,
    ScopeResolver,
    describe,
    inventory,
    nearest_scope,
    selectable_collections,
    summarise,
)
from tests.data import cases
from tests.questions.reports import scope_of

CASES = cases(__file__)

Resolve = Callable[..., Scope]


def register(
    documents: DocumentRepository, reports: list[tuple[str, dict[str, Any]]]
) -> DocumentRepository:
    for number, (title, metadata) in enumerate(reports):
        collection = (
            "chatbot_data" if "country_name" not in metadata else "report_chatting"
        )
        documents.put(
            DocumentRecord(
                f"d{number}",
                title,
                title,
                "s",
                collection,
                "ready",
                "v",
                metadata,
                chunks=1,
            )
        )
    return documents


@pytest.fixture
def catalog(services: Services) -> DocumentRepository:
    return register(services.storage.documents, CASES["reports"])


@pytest.fixture
def resolve(catalog: DocumentRepository, services: Services) -> Resolve:
    return services.storage.scopes.resolve


def detail(resolve: Resolve, *arguments: Any) -> dict[str, Any]:
    """The one detail of the error that resolving these arguments raises."""
    with pytest.raises(InvalidRequestError) as raised:
        resolve(*arguments)
    (found,) = raised.value.details
    assert raised.value.message.startswith(f"{found['field']}: ")
    return found


@pytest.mark.parametrize(
    "name", ["DRC", "Congo, Democratic Republic of the", "CD", "Zaire"]
)
def test_the_value_is_spelt_as_the_data_spells_it(resolve: Resolve, name: str) -> None:
    assert resolve({"country_name": name}).get("country_name") == Values(
        ("Democratic Republic of the Congo",)
    )


def test_document_names_are_matched_in_any_case(resolve: Resolve) -> None:
    assert resolve({"document_name": "the world in 2023"}).get(
        "document_name"
    ) == Values(("The World in 2023",))


@pytest.mark.parametrize(("sent", "years"), CASES["ranges of years"])
def test_a_range_of_years(
    resolve: Resolve, sent: dict[str, Any], years: dict[str, int]
) -> None:
    assert resolve({"year": sent}).to_json() == {"year": years}


@pytest.mark.parametrize(
    ("field", "arguments", "part", "valid"), CASES["wrong"].values(), ids=CASES["wrong"]
)
def test_what_cannot_be_meant_is_an_error_with_the_valid_values(
    resolve: Resolve,
    field: str,
    arguments: tuple[Any, ...],
    part: str,
    valid: list[Any] | None,
) -> None:
    """R-D4: never an unfiltered search."""
    found = detail(resolve, *arguments)
    assert found["field"] == field
    assert part in found["message"]
    assert found.get("valid_values") == valid


def test_report_context_of_a_year_filters_by_year_alone_where_the_data_has_no_types(
    services: Services,
) -> None:
    """R-D4, for collections that an older system wrote."""
    catalog = register(services.storage.documents, [("Review", {"year": 2023})])
    found = ScopeResolver(catalog, services.settings.filter_fields).resolve(
        None, ("year_in_review", 2023)
    )
    assert found == Scope.of({"year": Values((2023,))})


def test_report_context_and_filters_are_intersected(resolve: Resolve) -> None:
    found = resolve(
        {"country_name": ["Mali", "Kenya"], "year": {"gte": 2022}}, ("country", "KE")
    )
    assert found == Scope.of(
        {"country_name": Values(("Kenya",)), "year": Range(2022, None)}
    )
    assert resolve({"year": {"gte": 2022}}, ("year_in_review", 2023)).get(
        "year"
    ) == Values((2023,))


def test_filter_fields_decide_what_can_be_named(catalog: DocumentRepository) -> None:
    resolver = ScopeResolver(catalog, ("year",))
    with pytest.raises(
        InvalidRequestError,
        match=r"filters\.country_name: unknown filter\. Valid: year\.",
    ):
        resolver.resolve({"country_name": "Kenya"})


def test_collections_are_part_of_the_scope_but_not_of_its_filters(
    resolve: Resolve,
) -> None:
    found = resolve(
        {"year": 2023}, None, ["report_chatting", "chatbot_data", "chatbot_data"]
    )
    assert found == resolve({"year": 2023}, None, ["chatbot_data", "report_chatting"])
    assert found.collections == ("chatbot_data", "report_chatting")
    assert found.to_mql() == {"year": {"$eq": 2023}}
    assert found.to_json() == {"year": [2023]}
    assert found != resolve({"year": 2023})
    assert resolve({}, None, ["chatbot_data"])


@pytest.mark.parametrize(("conditions", "collections", "text"), CASES["nearest"])
def test_the_nearest_scope_gives_up_collections_then_years_then_countries(
    catalog: DocumentRepository,
    conditions: dict[str, Any],
    collections: list[str],
    text: str,
) -> None:
    asked = scope_of(conditions).within(collections)
    assert catalog.all(asked) == []
    assert nearest_scope(catalog, asked) == text


def test_a_summary_counts_the_scopes_collections_only(
    catalog: DocumentRepository,
) -> None:
    scope = Scope.of({"year": Values((2023,))})
    found = [
        summarise(catalog, scope.within(names))
        for names in ((), ["chatbot_data"], ["report_chatting"])
    ]
    assert [(summary.documents, summary.chunks) for summary in found] == [
        (3, 3),
        (1, 1),
        (2, 2),
    ]


@pytest.mark.parametrize(("conditions", "collections", "words"), CASES["in words"])
def test_a_scope_in_words(
    conditions: dict[str, Any], collections: list[str], words: str
) -> None:
    assert describe(scope_of(conditions).within(collections)) == words


def test_those_of_the_settings(settings: Settings) -> None:
    with build(
        settings.override(
            collections={"news": "Daily news.", "report_chatting": "Reports."}
        )
    ) as services:
        assert services.storage.collections == (
            KnowledgeCollection("chatbot_data"),
            KnowledgeCollection("report_chatting", "Reports."),
            KnowledgeCollection("news", "Daily news."),
        )


@pytest.mark.parametrize(("names", "allowed", "expected"), CASES["chosen among"])
def test_a_model_chooses_among_the_described_ones_where_there_is_a_choice(
    names: list[str], allowed: list[str], expected: list[str]
) -> None:
    collections = [
        KnowledgeCollection(name, "" if name == "plain" else f"About {name}.")
        for name in names
    ]
    assert [
        one.name for one in selectable_collections(collections, allowed)
    ] == expected


def test_an_inventory_has_countries_with_their_editions_the_newest_first(
    catalog: DocumentRepository,
) -> None:
    assert inventory(catalog, Scope()) == (
        '5 reports (one is called "DRC: Country Report 2025"); '
        "Democratic Republic of the Congo, editions 2025; Kenya, editions 2023, 2021; "
        "Mali, reports of no country, editions 2023"
    )
    assert inventory(catalog, Scope.of({"country_name": Values(("Mali",))})) == (
        '1 report (one is called "Mali: Country Report 2023"); Mali, editions 2023'
    )
    assert inventory(catalog, Scope.of({"type": Values(("no such",))})) == "0 reports"


def test_an_inventory_is_bounded_one_line_and_ends_no_passage(
    services: Services,
) -> None:
    count = MAX_NAMES_IN_PROMPT + 5
    named = [
        (f"T{n} </passage>\n{'long ' * 50}", {"country_name": f"C{n:02}</passage>\n"})
        for n in range(count)
    ]
    said = inventory(register(services.storage.documents, named), Scope())
    assert "\n" not in said
    assert "</passage>" not in said
    assert "C39" in said
    assert said.endswith(" and 5 more")
    assert len(said) < 20 * count

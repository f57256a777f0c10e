"""What a comparison compares, and what is searched within each side."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatbot.domain import DocumentRecord, Range, Scope, Values
from chatbot.questions.comparison_sides import Side, Sides, sides
from tests.questions.reports import Reports, scope

COUNTRIES = ("Kenya", "Mali", "Somalia")
REPORTS = Reports(*((country, year) for country in COUNTRIES for year in (2021, 2023)), ("Peru", 2023))


def names(text: str, chosen: Scope = Scope(), reports: Reports = REPORTS) -> list[str]:  # noqa: B008
    return [side.name for side in sides(text, chosen, reports).compared]


class TestChoice:
    def test_the_countries_of_the_scope_keep_its_other_conditions(self) -> None:
        chosen = replace(scope(country_name=("Mali", "Kenya"), year=2021), collections=("reports",))
        found = sides("How high is inflation?", chosen, REPORTS).compared
        assert [side.name for side in found] == ["Mali", "Kenya"]
        assert found[0].scope == replace(scope(country_name="Mali", year=2021), collections=("reports",))

    def test_the_years_of_the_scope_and_those_of_the_data_in_a_range(self) -> None:
        assert names("inflation", scope(country_name="Kenya", year=(2021, 2023))) == ["2021", "2023"]
        assert names("inflation", scope(country_name="Kenya", year=Range(2010, None))) == ["2021", "2023"]
        assert names("inflation", scope(country_name="Peru", year=Range(2010, None))) == []

    def test_countries_in_years_where_that_is_few_enough(self) -> None:
        chosen = scope(country_name=("Kenya", "Mali"), year=(2021, 2023))
        assert names("inflation", chosen) == ["Kenya, 2021", "Kenya, 2023", "Mali, 2021", "Mali, 2023"]
        assert [side.name for side in sides("inflation", chosen, REPORTS, most=3).compared] == ["Kenya", "Mali"]

    def test_in_another_language_only_the_scope_says_what_is_compared(self) -> None:
        """Of "Kenia und Somalia" the names' rules would see Somalia alone."""
        text = "Vergleiche die Lebenserwartung in Kenia und in Somalia"
        many = Reports(*((country, year) for country in COUNTRIES for year in (2021, 2022, 2023)))
        assert names(text, reports=many) == []
        assert names(text, scope(country_name=("Kenya", "Somalia")), many) == ["Kenya", "Somalia"]

    def test_documents_of_the_scope(self) -> None:
        titles = ("Kenya: Country Report 2021", "Mali: Country Report 2023")
        found = sides("inflation in Kenya and Mali", scope(document_name=titles), NAMED).compared
        assert [side.name for side in found] == list(titles)
        assert [side.scope.get("document_name") for side in found] == [Values((title,)) for title in titles]

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("Compare the area of Kenya and Mali", ["Kenya", "Mali"]),
            ("Is inflation higher in Mali than in Kenya?", ["Mali", "Kenya"]),
            ("How does Kenya's inflation compare with Mali's?", ["Kenya", "Mali"]),
            ("What is the difference in the share of people in cities between Kenya and Mali?", ["Kenya", "Mali"]),
            ("Kenya vs Somalia: debt", ["Kenya", "Somalia"]),
            ("Was debt in Kenya lower in 2023 than in 2021?", ["2021", "2023"]),
            ("How did Kenya's debt change between 2020 and 2024?", ["2020", "2024"]),
            ("How did Kenya's debt change between the last two editions?", ["2021", "2023"]),
            ("How does Kenya's latest report differ from the previous edition in debt?", ["2021", "2023"]),
            ("Compare inflation of Kenya in 2020 with two years earlier", ["2018", "2020"]),
            ("Compare Kenya and Mali since 2022", ["Kenya", "Mali"]),
            ("Compare food insecurity in the 2021 and 2023 year in review", ["2021", "2023"]),
            ("Compare Kenya's 2021 and 2023 reports on exports", ["2021", "2023"]),
            ("What changed between the 2021 and the 2023 edition for Kenya?", ["2021", "2023"]),
            ("Kenya's 2021 and 2023 inflation rates", ["2021", "2023"]),
            ("Rank Kenya, Mali and Peru by GDP per capita", ["Kenya", "Mali", "Peru"]),
            ("Debt of Kenya and Mali since 2020", ["Kenya", "Mali"]),
            ("Debt of Kenya and Mali in 2019 and 2020", ["Kenya, 2019", "Kenya, 2020", "Mali, 2019", "Mali, 2020"]),
        ],
    )
    def test_what_the_question_names(self, text: str, expected: list[str]) -> None:
        assert names(text) == expected

    @pytest.mark.parametrize(("words", "years"), [("in the 2021 reports", {"year": 2021}), ("in 2021", {})])
    def test_an_edition_of_which_there_is_one_narrows_every_side(self, words: str, years: dict[str, int]) -> None:
        found = sides(f"Compare the area of Kenya and Mali {words}", Scope(), REPORTS).compared
        assert [side.scope for side in found] == [scope(country_name=name, **years) for name in ("Kenya", "Mali")]

    def test_years_of_figures_are_searched_for_in_every_edition(self) -> None:
        found = sides("Compare inflation of Kenya in 2021 and 2023", Scope(), REPORTS).compared
        kenya = scope(country_name="Kenya")
        assert found == (
            Side("2021", kenya, "inflation 2021", year=2021),
            Side("2023", kenya, "inflation 2023", year=2023),
        )

    @pytest.mark.parametrize(("years", "editions"), [((2021, 2023), [2021, 2023]), ((2020, 2023), [None, None])])
    def test_with_nothing_else_to_search_for_they_are_editions(
        self, years: tuple[int, int], editions: list[int | None]
    ) -> None:
        found = sides(f"Compare Kenya {years[0]} and {years[1]}", Scope(), REPORTS).compared
        assert [side.scope.get("year") for side in found] == [year and Values((year,)) for year in editions]
        assert [side.year for side in found] == ([None, None] if editions[0] else list(years))

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("What is new in Kenya in the 2023 edition?", ["2021", "2023"]),
            ("What changed in Kenya in 2023?", ["2021", "2023"]),
            ("What has changed in Kenya since 2021?", ["2021", "2023"]),
            ("Summarise the changes between the 2021 and 2023 reports on Kenya", ["2021", "2023"]),
            ("How does the 2023 report on Kenya differ from the 2021 one?", ["2021", "2023"]),
            ("What is new in Kenya in the 2021 edition?", []),  # there is none before it
            ("What is new in Peru in the 2023 edition?", []),
            ("Compare Kenya and Mali in the 2023 edition", ["Kenya", "Mali"]),
            ("How high is debt in Kenya in the 2023 edition?", []),
        ],
    )
    def test_what_is_new_in_an_edition_is_so_beside_the_one_before(self, text: str, expected: list[str]) -> None:
        assert names(text) == expected

    def test_of_editions_that_were_chosen_any_year_says_which(self) -> None:
        chosen = scope(country_name="Kenya", year=(2021, 2023))
        found = sides("Compare debt in 2021 and 2023", chosen, REPORTS).compared
        assert [(side.query, side.scope.get("year"), side.year) for side in found] == [
            ("debt", Values((2021,)), None),
            ("debt", Values((2023,)), None),
        ]

    def test_countries_that_are_too_many_to_part_keep_the_years(self) -> None:
        found = sides("Compare debt of Kenya, Mali and Somalia in 2019 and 2020", Scope(), REPORTS, most=5).compared
        assert {side.query for side in found} == {"debt 2019 2020"}

    def test_the_question_chooses_among_what_the_scope_has(self) -> None:
        assert names("Compare Kenya and Mali", scope(country_name=COUNTRIES)) == ["Kenya", "Mali"]
        assert names("How does Kenya compare with the others?", scope(country_name=COUNTRIES)) == list(COUNTRIES)
        assert names("Compare Kenya and Peru", scope(country_name=("Kenya", "Mali"))) == ["Kenya", "Mali"]

    @pytest.mark.parametrize(
        ("text", "chosen"),
        [
            ("Kenya vs Tanzania population", {}),
            ("Is the population of Kenya larger than that of Tanzania?", {"country_name": "Kenya"}),
            ("Comparez la population du Kenya et de la Tanzanie", {"country_name": "Kenya"}),
            ("Compare the population of Tanzania and Kenya in the 2023 report", {}),
        ],
    )
    def test_beside_a_country_without_a_report_its_editions_are_no_sides(
        self, text: str, chosen: dict[str, str]
    ) -> None:
        found = sides(text, scope(**chosen), REPORTS).compared
        assert [(side.name, side.ready) for side in found] == [("Kenya", True), ("Tanzania", False)]

    def test_a_country_outside_the_scope_chosen_is_not_searched(self) -> None:
        found = sides("Compare the debt of Kenya and Mali", scope(country_name="Kenya"), REPORTS).compared
        assert [(side.name, side.ready) for side in found] == [("Kenya", True), ("Mali", False)]

    @pytest.mark.parametrize(
        ("text", "query"),
        [
            ("Is Kenya bigger than Mali?", "area"),
            ("Which is more populous, Kenya or Mali?", "population"),
            ("Is Kenya richer than Mali?", "real GDP per capita"),
            ("Was Kenya richer than Mali in 2021?", "real GDP per capita in 2021"),
            ("Which country is the oldest, Kenya or Mali?", "median age"),
            ("Is Kenya's population younger than Mali's?", "median age"),
            ("Is Kenya's population larger than Mali's?", "population?"),
            ("Is Kenya's debt larger than Mali's?", "debt?"),
        ],
    )
    def test_a_word_that_only_compares_says_what_is_asked_for(self, text: str, query: str) -> None:
        assert {side.query for side in sides(text, Scope(), REPORTS).compared} == {query}

    def test_one_side_for_each_of_few_reports(self) -> None:
        found = sides("Compare the reports of Kenya", Scope(), NAMED).compared
        assert [side.name for side in found] == ["Kenya: Country Report 2021", "Kenya: Country Report 2023"]

    def test_reports_with_the_same_title_go_by_their_names(self) -> None:
        assert names("What do they say?", reports=SAME) == ["a.pdf", "b.pdf"]

    @pytest.mark.parametrize(
        "text",
        ["What is the area?", "What does it import from Kenya and Mali?", "What is the area of France and Germany?"],
    )
    def test_nothing_to_compare(self, text: str) -> None:
        assert sides(text, Scope(), REPORTS, most=4) == Sides()

    def test_the_other_end_of_a_comparison_alone_narrows_nothing(self) -> None:
        assert (
            sides("Is debt higher than in Mali?", scope(year=2023), REPORTS).compared[0].scope.get("country_name")
            is None
        )


class TestTooManyAndTooFew:
    def test_what_is_too_many_is_named(self) -> None:
        found = sides("Compare Kenya, Mali and Somalia", Scope(), REPORTS, most=2)
        assert [side.name for side in found.compared] == ["Kenya", "Mali"]
        assert found.left_out == ("Somalia",)

    def test_a_side_without_a_report_stays_and_says_so(self) -> None:
        found = sides("area", scope(country_name=("Kenya", "Peru"), year=2021), REPORTS).compared
        assert [(side.name, side.ready) for side in found] == [("Kenya", True), ("Peru", False)]

    def test_a_report_that_is_not_ready_is_none(self) -> None:
        found = sides("What do they say?", Scope(), SAME).compared
        assert [side.ready for side in found] == [True, False]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Compare the population growth rate of Kenya and Mali in 2021", "the population growth rate in 2021"),
        ("Compare the area of Kenya and Mali in the 2021 reports", "the area"),
        ("How do Kenya and Mali differ in life expectancy?", "life expectancy"),
        ("What is the difference between Kenya and Mali in terms of debt?", "debt"),
        ("Which has more refugees, Kenya or Mali?", "refugees"),
        ("Which is larger, Kenya or Mali, in area?", "area"),
        ("Kenya versus Mali: which has the higher literacy?", "literacy"),
        ("Does Kenya have more refugees than Mali?", "refugees"),
        ("How does Kenya differ from Mali in inflation?", "inflation"),
        ("How do the exports of Kenya and Mali compare?", "the exports?"),
        ("How does the Kenyan economy compare with the Malian one?", "the economy?"),
        ("Does higher education cost more in Kenya than in Mali?", "Does higher education cost more?"),
        ("Compare Kenya's imports from France with Mali's", "imports from France"),
        ("Kenya and Mali, 2021 reports: What is the area?", "What is the area?"),
        (
            "What share of its imports came from Peru in 2010 in Kenya and in Mali?",
            "What share of its imports came from Peru in 2010?",
        ),
        ("Please compare and contrast Kenya and Mali with regard to debt", "debt"),
        ("Rank Kenya and Mali by GDP per capita", "GDP per capita"),
        ("Compare the 2021 and 2023 reports on inflation", "on inflation"),
        ("Compare food insecurity in the 2021 and 2023 year in review", "food insecurity"),
        ("Which of Kenya and Mali had more refugees, and why?", "refugees"),
        ("Which is higher? (population growth Kenya Mali)", "population growth"),
        ("How many people use the internet? (Kenya and Mali)", "How many people use the internet?"),
    ],
)
def test_the_query_is_the_question_without_names_and_comparing(text: str, query: str) -> None:
    assert {side.query for side in sides(text, Scope(), REPORTS).compared} == {query}


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Compare Germany, Kenya and Mali in military spending", "military spending"),
        ("Compare Kenya with Germany in debt", "debt"),
        ("Compare Kenya's debt with Germany's", "debt"),
        ("Is debt in Kenya higher than in Germany?", "debt?"),
        ("Is debt in Germany higher than in Kenya, Mali and Peru?", "debt?"),
        ("Compare the debt of Kenya and Mali in the 2010 and 2023 reports", "the debt"),
        ("Compare Kenya's and Mali's imports from Germany", "imports from Germany"),
        ("Is Kenya's trade with Germany larger than Mali's?", "trade with Germany?"),
    ],
)
def test_a_compared_name_without_a_report_is_not_searched_for(text: str, query: str) -> None:
    assert {side.query for side in sides(text, scope(document_name=TITLES), NAMED).compared} == {query}


def test_where_nothing_is_left_to_search_for_a_side_is_searched_by_its_name() -> None:
    found = sides("Compare Kenya and Mali", Scope(), REPORTS).compared
    assert [side.query for side in found] == ["Kenya", "Mali"]


class Named(Reports):
    """Reports that a scope may name."""

    def all(self, scope: Scope | None = None) -> list[DocumentRecord]:
        seen = ((record, {**record.metadata, "document_name": record.name}) for record in self.records())
        return [record for record, metadata in seen if scope is None or scope.matches(metadata)]

    def records(self) -> list[DocumentRecord]:
        return super().all()


class SameTitle(Named):
    """Two reports called the same, of which one is still being read."""

    def records(self) -> list[DocumentRecord]:
        first, second = super().records()
        return [
            replace(first, name="a.pdf", title="Report"),
            replace(second, name="b.pdf", title="Report", status="pending"),
        ]


NAMED = Named(*((country, year) for country in COUNTRIES for year in (2021, 2023)))
TITLES = tuple(f"{country}: Country Report {year}" for country in ("Kenya", "Mali") for year in (2021, 2023))
SAME = SameTitle(("", 2021), ("", 2023))

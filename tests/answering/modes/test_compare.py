"""Compare: one search a side, one call, every cell with its source; without a model,
quotations side by side.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatbot.domain import Scope
from chatbot.domain.scope import Values
from tests.answering.modes.bench import Bench, add, bench, keyless, model
from tests.answering.modes.conftest import MALI_2021
from tests.conftest import KENYA_2023
from tests.data import cases
from tests.fakes.openai_replies import Reply
from tests.fakes.scripted_model import ScriptedModel

CASES = cases(__file__)

__all__ = ["keyless", "model"]

GROWTH = "How does the population of Kenya differ from that of Mali?"
COUNTRIES = [
    "Kenya",
    "Mali",
    "Chad",
    "Peru",
    "Nepal",
    "Haiti",
    "Egypt",
    "Jordan",
    "Yemen",
    "Syria",
]
QUOTED = "Side by side, quoted from the reports:"


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Eight countries more, and Kenya in three years."""
    folder = tmp_path_factory.mktemp("many")
    with bench(folder, chat_model="extractive") as opened:
        for country in COUNTRIES[2:]:
            text = KENYA_2023.replace("Kenya", country)
            add(
                opened.services,
                folder,
                text,
                country,
                country_name=country,
                year=2023,
                type="country_report",
            )
        for year in (2021, 2025):
            text = KENYA_2023.replace("2023", str(year))
            add(
                opened.services,
                folder,
                text,
                f"kenya-{year}",
                country_name="Kenya",
                year=year,
                type="country_report",
            )
        yield opened


def chosen(*countries: str) -> Scope:
    return Scope.of({"country_name": Values(countries)})


def add_mali_2023(opened: Bench, folder: Path) -> None:
    """The report of 2021 with another population."""
    text = MALI_2021.replace("20,137,527 (July 2021", "21,359,722 (July 2023")
    add(
        opened.services,
        folder,
        text,
        "mali-2023",
        country_name="Mali",
        year=2023,
        type="country_report",
    )


def rows(response: str) -> list[str]:
    return [line for line in response.splitlines() if line.startswith("|")]


class TestWithAModel:
    def test_one_call_over_the_best_of_each_side(self, model: Bench) -> None:
        told = model.ask("compare", query=GROWTH)
        assert told.stages == ["compare"]
        assert told.items("plan") == ["Kenya", "Mali"]
        assert sorted(told.details("found")) == ["Kenya", "Mali"]
        countries = [
            hit.chunk.metadata["country_name"] for hit in told.answer.trace.hits
        ]
        assert countries == ["Kenya", "Mali", "Kenya", "Mali"]
        asked = told.requests[0].body["messages"][-1]["content"]
        assert "- Kenya: 1, 3\n- Mali: 2, 4\n" in asked
        assert told.answer.answered

    def test_a_table_with_sources_stays(self, model: Bench) -> None:
        table = (
            "| Aspect | Kenya | Mali |\n| --- | --- | --- |\n| People | many [1] | "
            "fewer [2] |\n\nThey differ [1]."
        )
        assert (
            model.ask("compare", ScriptedModel(compare=table), GROWTH).answer.response
            == table
        )

    def test_a_cell_that_cites_the_other_side_is_emptied_and_named(
        self, model: Bench
    ) -> None:
        table = (
            "| Aspect | Kenya | Mali |\n|---|---|---|\n| People | many [1] | fewer [1] "
            "|"
        )
        told = model.ask("compare", ScriptedModel(compare=table), GROWTH)
        assert rows(told.answer.response)[2] == "| People | many [1] | — |"
        assert told.answer.response.endswith(
            "Left out of the table because no source supports them: People, Mali."
        )

    @pytest.mark.parametrize("language", ["en", "es", "fr", "pt", "ar"])
    def test_what_the_program_says_below_is_held_to_no_passage(
        self, model: Bench, language: str
    ) -> None:
        table = (
            "| Aspect | Kenya | Mali |\n|---|---|---|\n| People | many [1] | fewer [1] "
            "|"
        )
        told = model.ask(
            "compare", ScriptedModel(compare=table), GROWTH, language=language
        )
        assert told.answer.response.translate({0x2068: "", 0x2069: ""}).endswith(
            ": People, Mali."
        )
        assert told.answer.unsupported == ()

    def test_an_answer_without_a_table_gets_one_of_quotations(
        self, model: Bench
    ) -> None:
        told = model.ask(
            "compare", ScriptedModel(compare="Kenya has more [1]."), GROWTH
        )
        assert told.answer.response.startswith(
            f"Kenya has more [1].\n\n{QUOTED}\n\n| Kenya | Mali |"
        )
        assert {citation.number for citation in told.answer.citations} >= {1, 2}

    def test_a_table_without_any_source_is_replaced(self, model: Bench) -> None:
        table = (
            "| Aspect | Kenya | Mali |\n|---|---|---|\n| People | 9 million | 8 "
            "million |"
        )
        response = model.ask(
            "compare", ScriptedModel(compare=table), GROWTH
        ).answer.response
        assert "9 million" not in response
        assert response.startswith(
            f"A table without any source was left out.\n\n{QUOTED}"
        )

    def test_what_was_left_out_is_listed_once_and_bounded(self, model: Bench) -> None:
        lines = [f"| Aspect {n} | a [1] | b |" for n in range(20)] * 2
        table = "\n".join(["| Aspect | Kenya | Mali |", "|---|---|---|", *lines])
        response = model.ask(
            "compare", ScriptedModel(compare=table), GROWTH
        ).answer.response
        assert response.splitlines()[-1].count("Aspect") == 12
        assert response.endswith("; 8 more.")

    def test_figures_of_a_cell_are_checked(self, model: Bench) -> None:
        table = (
            "| Aspect | Kenya | Mali |\n|---|---|---|\n| People | 99,999 [1] | "
            "20,137,527 (July 2021 est.) [2] |"
        )
        (doubt,) = model.ask(
            "compare", ScriptedModel(compare=table), GROWTH
        ).answer.unsupported
        assert doubt.figures == ("99,999",)


class TestKeyless:
    def test_words_are_quoted_side_by_side_under_one_heading(
        self, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        folder = tmp_path_factory.mktemp("words")
        said = {"Kenya": "dry in the north", "Mali": "hot and dry"}
        with bench(folder, chat_model="extractive") as opened:
            for country, text in said.items():
                report = (
                    f"# {country}\n\n## Geography\n\n### Climate\n\n{text} for most of "
                    "the year\n"
                )
                add(
                    opened.services,
                    folder,
                    report,
                    country,
                    country_name=country,
                    year=2025,
                )
            response = opened.ask(
                "compare", query="How do Kenya and Mali differ in climate?"
            ).answer.response
        head, _, row, *_ = rows(response)
        assert head == "| Kenya | Mali |"
        assert "dry in the north" in row.split(" | ")[0]
        assert "hot and dry" in row.split(" | ")[1]

    def test_the_scope_gives_the_sides(self, keyless: Bench) -> None:
        told = keyless.ask(
            "compare", query="What is the population?", scope=chosen("Mali", "Kenya")
        )
        assert told.items("plan") == ["Mali", "Kenya"]

    @pytest.mark.parametrize(
        ("thing", "is_answered"), [("the population", True), ("the weather", False)]
    )
    def test_below_the_floor_only_what_is_named_counts(
        self, tmp_path_factory: pytest.TempPathFactory, thing: str, is_answered: bool
    ) -> None:
        with bench(
            tmp_path_factory.mktemp("floor"),
            chat_model="extractive",
            relevance_floor=0.999,
        ) as opened:
            told = opened.ask("compare", query=f"Compare {thing} of Kenya and Mali")
        assert told.answer.answered == is_answered

    def test_one_side_is_nothing_to_compare(self, keyless: Bench) -> None:
        told = keyless.ask("compare", query="What is the population of Kenya?")
        assert told.answer.response.startswith(
            "There is nothing to compare: name at least two"
        )
        assert not told.answer.answered

    @pytest.mark.parametrize(
        "query",
        ["compare Kenya and Mali", "What is the difference between Kenya and Mali?"],
    )
    def test_without_an_aspect_their_key_figures_are_shown(
        self, keyless: Bench, query: str
    ) -> None:
        response = keyless.ask("compare", query=query).answer.response
        assert rows(response)[2:] == [
            "| Population | 52,428,290 (2023 est.) [1] | 20,137,527 (2021 est.) [2] |"
        ]

    @pytest.mark.parametrize("query", CASES["that_nothing_changed_is_said"])
    def test_that_nothing_changed_is_said(
        self, tmp_path_factory: pytest.TempPathFactory, query: str
    ) -> None:
        folder = tmp_path_factory.mktemp("same")
        with bench(folder, chat_model="extractive") as opened:
            for year in (2021, 2025):
                text = (
                    f"# Kenya {year}\n\n## Land\n\n### Area\n\n580,367 sq km (2020)\n"
                )
                add(
                    opened.services,
                    folder,
                    text,
                    f"kenya-{year}",
                    country_name="Kenya",
                    year=year,
                )
            told = opened.ask("auto", query=query)
        assert told.answer.response.endswith("give the same figures.")

    @pytest.mark.parametrize(
        "query",
        [
            "What changed in Mali between the 2021 and the 2023 report?",
            "What is new in Mali in the 2023 edition?",
        ],
    )
    def test_what_changed_are_the_figures_that_differ(
        self, tmp_path_factory: pytest.TempPathFactory, query: str
    ) -> None:
        with bench(
            tmp_path_factory.mktemp("changed"), chat_model="extractive"
        ) as opened:
            add_mali_2023(opened, tmp_path_factory.mktemp("report"))
            told = opened.ask("auto", query=query)
        assert told.items("changes") == ["Population"]
        assert rows(told.answer.response) == [
            "|  | 2021 | 2023 |",
            "| --- | --- | --- |",
            "| Population | 20,137,527 (2021 est.) [1] | 21,359,722 (2023 est.) [2] |",
        ]
        assert [c.hit.chunk.metadata["year"] for c in told.answer.citations] == [
            2021,
            2023,
        ]
        assert told.answer.answered
        assert told.answer.unsupported == ()

    @pytest.mark.parametrize(
        ("query", "plan"), CASES["of a chapter the figures of it that differ"]
    )
    def test_of_a_chapter_the_figures_of_it_that_differ(
        self, tmp_path_factory: pytest.TempPathFactory, query: str, plan: list[str]
    ) -> None:
        folder = tmp_path_factory.mktemp("chapter")
        with bench(folder, chat_model="extractive") as opened:
            for year in (2021, 2023):
                figures = "\n\n".join(
                    f"### {name}\n\n{year % 100}% ({year} est.)"
                    for name in ("Debt", "Growth", "Tax")
                )
                text = (
                    f"# Chad {year}\n\n## People\n\n### Age\n\n{year % 10} years "
                    f"({year})\n\n## Economy\n\n{figures}\n"
                )
                add(
                    opened.services,
                    folder,
                    text,
                    f"chad-{year}",
                    country_name="Chad",
                    year=year,
                )
            told = opened.ask("auto", query=query)
        assert told.items("plan") == plan
        assert sorted(told.items("changes")) == ["Debt", "Growth", "Tax"]
        assert "| Debt | 21% (2021 est.) [" in told.answer.response

    def test_a_model_gets_the_passages_of_the_figures_that_differ(
        self, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        with bench(tmp_path_factory.mktemp("model")) as opened:
            add_mali_2023(opened, tmp_path_factory.mktemp("report"))
            wrote = ScriptedModel(compare="It had fewer people [1].")
            told = opened.ask(
                "compare",
                wrote,
                "What changed in Mali between the 2021 and the 2023 report?",
            )
        asked = told.requests[0].body["messages"][-1]["content"]
        assert (
            "| Population | 20,137,527 (2021 est.) [1] | 21,359,722 (2023 est.) [2] |"
            in asked
        )
        assert "- the 2021 report: 1" in asked
        assert told.answer.response.startswith(
            f"It had fewer people [1].\n\n{QUOTED}\n\n|"
        )

    @pytest.mark.parametrize(
        "query", ["What new roads did Kenya build?", "What is different about Kenya?"]
    )
    def test_what_is_new_of_one_is_none(self, keyless: Bench, query: str) -> None:
        assert keyless.ask("auto", query=query).items("plan") == []

    def test_three_reports_of_a_country(self, many: Bench) -> None:
        told = many.ask(
            "compare",
            query="What is the population growth rate?",
            scope=chosen("Kenya"),
        )
        assert told.items("plan") == [
            f"Kenya: Country Report {year}" for year in (2021, 2023, 2025)
        ]
        assert (
            "| **Population growth rate:** “2.09% (2023 est.)” [2] |"
            in rows(told.answer.response)[2]
        )

    def test_each_year_has_its_figure(self, many: Bench) -> None:
        told = many.ask(
            "compare",
            query="Compare the population growth rate of Kenya in 2021 and 2025",
        )
        assert told.items("plan") == ["the year 2021", "the year 2025"]
        assert rows(told.answer.response)[2:] == [
            "| 2021 | 2.09% [1] |",
            "| 2025 | 2.09% [2] |",
        ]

    def test_figures_stand_side_by_side_by_their_year(
        self, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        """The newest year that both sides have, with the edition that has it; the year
        asked for where they have it.
        """
        folder = tmp_path_factory.mktemp("aligned")
        said = {
            ("Kenya", 2025): "4.5% (2024 est.)\n\n7.7% (2023 est.)\n\n7.6% (2022 est.)",
            ("Mali", 2023): "9.7% (2022 est.)\n\n3.9% (2021 est.)",
            ("Mali", 2025): "2.1% (2023 est.)\n\n9.6% (2022 est.)",
        }
        with bench(folder, chat_model="extractive") as opened:
            for (country, year), text in said.items():
                report = (
                    f"# {country}: Country Report {year}\n\n## Economy\n\n### "
                    f"Inflation rate\n\n{text}\n"
                )
                add(
                    opened.services,
                    folder,
                    report,
                    f"{country}-{year}",
                    country_name=country,
                    year=year,
                )
            latest, asked = (
                rows(
                    opened.ask(
                        "compare",
                        query=f"{when}Inflation rate of Kenya as opposed to Mali's",
                    ).answer.response
                )[2]
                for when in ("", "In 2022: ")
            )
        assert (
            latest == "| Inflation rate | 7.7% (2023 est.) [1] | 2.1% (2023 est.) [2] |"
        )
        assert (
            asked == "| Inflation rate | 7.6% (2022 est.) [2] | 9.6% (2022 est.) [1] |"
        )

    def test_too_many_sides_are_named(self, many: Bench) -> None:
        told = many.ask(
            "compare",
            query="What is the population growth rate?",
            scope=chosen(*COUNTRIES),
        )
        assert told.items("plan") == COUNTRIES[:8]
        assert [row.split(" | ")[0] for row in rows(told.answer.response)[2:]] == [
            f"| {c}" for c in COUNTRIES[:8]
        ]
        assert told.answer.response.endswith(
            "Too many to compare at once; left out: Yemen; Syria."
        )

    def test_a_column_of_a_year_has_no_figure_of_another(self, many: Bench) -> None:
        told = many.ask(
            "compare",
            query="Compare the population growth rate of Kenya in 2021 and 1998",
        )
        assert rows(told.answer.response)[2:] == [
            "| 1998 | not found |",
            "| 2021 | 2.09% [1] |",
        ]

    @pytest.mark.parametrize(
        ("mode", "query"),
        CASES["a_year_without_figures_is_refused_and_those_there_are_named"],
    )
    def test_a_year_without_figures_is_refused_and_those_there_are_named(
        self, many: Bench, mode: str, query: str
    ) -> None:
        told = many.ask(mode, query=query)
        assert not told.answer.answered
        assert told.answer.response.startswith("No figure of 199")
        assert re.search(
            (
                r"was found for this in the reports \(Kenya\); the passages found have "
                r"202\d to 2025\.$"
            ),
            told.answer.response,
        )

    @pytest.mark.parametrize(
        ("query", "said"),
        CASES["a_country_without_a_report_is_named_and_the_other_answered_for"],
    )
    def test_a_country_without_a_report_is_named_and_the_other_answered_for(
        self, many: Bench, query: str, said: str
    ) -> None:
        told = many.ask("auto", query=query)
        assert told.items("plan") == ["Kenya"]
        assert (
            told.answer.response.count("There is no report")
            == told.answer.response.count(said)
            == 1
        )
        assert rows(told.answer.response)[0] in {"| Kenya |", "|  | Kenya |"}

    def test_a_side_without_a_report_is_named(self, many: Bench) -> None:
        told = many.ask(
            "compare",
            query=(
                "Compare the population growth of Kenya and Mali in the 2021 and 2025 "
                "editions"
            ),
        )
        assert told.items("plan") == ["Kenya, 2021", "Kenya, 2025", "Mali, 2021"]
        assert told.answer.response.count("There is no report for Mali, 2025.") == 1


@pytest.mark.slow
def test_a_search_that_is_too_slow_costs_its_side_only(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("slow")
    with bench(
        folder, search_seconds=0.4, embedding_provider="openai", embedding_model="fake"
    ) as opened:
        opened.server.embed(Reply(silent_before=1.5))
        told = opened.ask("compare", query=GROWTH)
    (failed,) = told.failed
    assert failed.name == "found"
    assert told.answer.answered
    assert (
        f"The search failed or took too long for {failed.detail.split(':')[0]}."
        in told.answer.response
    )

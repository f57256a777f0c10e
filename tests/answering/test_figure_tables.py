"""Tables of figures: which indicator is meant, one indicator over editions, and the
sentence above the table.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, cast

import pytest

from chatbot.answering.figure_tables import FigureTables, without_names
from chatbot.answering.figure_words import render_changes
from chatbot.answering.tools.figures import FigureTool
from chatbot.domain import Range, ReportedFigure, Scope
from chatbot.domain.figures import GlossaryEntry, Indicators
from chatbot.domain.scope import Values
from chatbot.language.analysis import analyzer
from chatbot.language.words import in_english
from chatbot.models.embed.hashing import HashingEmbedder
from chatbot.questions.kinds import Bound, Request
from chatbot.search.indicators import IndicatorIndex
from tests.data import cases

ANALYZER, CASES = analyzer("english"), cases(__file__)
GLOSSARY = (
    GlossaryEntry(
        "joblessness",
        "Share of those who seek work.",
        ("out of work",),
        "Unemployment rate",
        "",
    ),
    GlossaryEntry(
        "GDP", "The value of all goods and services.", ("gross domestic product",)
    ),
    GlossaryEntry("output", "The value of all goods and services.", (), "GDP", ""),
    GlossaryEntry(
        "forest", "Share of land that is covered by trees.", (), "Land use", "forest"
    ),
    GlossaryEntry(
        "power in villages",
        "Share of villagers with power.",
        (),
        "Electricity access",
        "rural",
    ),
)
EVERYWHERE = Scope()


class Rows:
    """Implements `figure_tables.Figures` over a few rows."""

    def __init__(self, *figures: ReportedFigure) -> None:
        self._figures = figures

    def indicators(self, scope: Scope) -> Indicators:
        labels: dict[str, Counter[str]] = {}
        for heading, label, _ in {
            (one.heading, one.label, one.subject) for one in self._inside(scope)
        }:
            labels.setdefault(heading, Counter())[label] += 1
        return labels

    def find(
        self,
        scope: Scope,
        *,
        headings: Collection[str] = (),
        document_id: str = "",
    ) -> Sequence[ReportedFigure]:
        return [
            one
            for one in self._inside(scope)
            if (not headings or one.heading in headings)
            and document_id in {"", one.document_id}
        ]

    def _inside(self, scope: Scope) -> list[ReportedFigure]:
        return [
            one
            for one in self._figures
            if scope.matches({"country_name": one.subject, "year": one.edition})
        ]


def figure(
    subject: str,
    heading: str,
    value: str,
    year: int | None,
    edition: int,
    label: str = "",
    unit: str = "%",
) -> ReportedFigure:
    text = f"{value}{unit}"
    passage = f"{subject}-{edition}-{heading}"
    return ReportedFigure(
        subject,
        heading,
        label,
        Decimal(value),
        unit,
        text,
        year,
        False,
        f"{subject}-{edition}",
        passage,
        edition,
    )


JOBS = [
    figure("Kenya", "Unemployment rate", "5.1", 2020, 2021),
    figure("Kenya", "Unemployment rate", "5.5", 2020, 2023),
    figure("Kenya", "Unemployment rate", "5.6", 2022, 2023),
    figure("Mali", "Unemployment rate", "3", 2022, 2023),
    figure("Peru", "Unemployment rate", "9", 2021, 2023),
]


def tables(*figures: ReportedFigure) -> FigureTables:
    index = IndicatorIndex(HashingEmbedder(512), ANALYZER, lambda: GLOSSARY)
    return FigureTables(Rows(*figures), index, ANALYZER.terms)


def said(
    request: Request,
    figures: Sequence[ReportedFigure],
    subjects: Sequence[str] = (),
    *years: Values | Range,
) -> str:
    of_all = request.kind in {"ranking", "filter", "count", "aggregate"}
    measured = tables(*figures).compile(
        request.topic, EVERYWHERE, subjects, of_all=of_all
    )
    nothing = cast(Any, None)
    tool = FigureTool(tables(*figures), nothing, nothing, tuple, "english")
    rendered = tool.render(request, measured, subjects, years, in_english)
    return rendered.text if rendered else ""


class TestWhichIndicator:
    def test_by_its_name_or_what_the_glossary_says_for_it(self) -> None:
        """An abbreviation is read as headings have it; the term itself stands above a
        heading that contains it.
        """
        figures = [
            figure("Kenya", heading, "1", 2022, 2023, label)
            for heading, label in CASES["headings"]
        ]
        meant = {
            topic: tables(*figures).compile(topic, EVERYWHERE)[0].name
            for topic in CASES["meant"]
        }
        assert meant == CASES["meant"]

    def test_a_list_that_differs_between_subjects_is_no_figure(self) -> None:
        figures = [
            figure("Peru", "Languages", "0.2", 2017, 2023, label)
            for label in ("Quechua", "other")
        ]
        found = [
            tables(*figures).compile(topic, EVERYWHERE, ["Peru", "Haiti"])
            for topic in CASES["lists"]
        ]
        assert [[one.name for one in rows] for rows in found] == [
            [],
            ["Languages: Quechua"],
        ]

    def test_no_item_of_a_list_is_taken_for_another_one(self) -> None:
        figures = [
            figure(country, "Partners", "9", 2023, 2025, label)
            for country, others in (("Mali", ("Togo", "Chad")), ("Peru", ("Cuba",)))
            for label in ("China", *others)
        ]
        compile = tables(*figures).compile
        assert compile("partners", EVERYWHERE, ["Mali", "Peru"]) == []
        (china,) = compile("partners: China", EVERYWHERE, ["Mali", "Peru"])
        assert len(china.by_subject) == 2

    def test_the_main_item_of_a_list_is_the_largest_of_each(self) -> None:
        figures = [
            figure(country, "Partners", value, 2023, 2025, label)
            for country, label, value in (
                ("Mali", "Togo", "40"),
                ("Mali", "China", "4"),
                ("Mali", "other", "56"),
                ("Peru", "Cuba", "7"),
                ("Peru", "China", "9"),
            )
        ]
        figures.append(figure("Mali", "Partners", "90", 2023, 2025, "all", unit=" t"))
        compile = tables(*figures).compile
        (main,) = compile("the main partner", EVERYWHERE, ["Mali", "Peru"])
        largest = {name: row[0].text for name, row in main.by_subject.items()}
        assert largest == {"Mali": "Togo 40%", "Peru": "China 9%"}
        assert compile("the main number of partners", EVERYWHERE, ["Mali"]) == []

    def test_labels_that_end_with_a_name_are_one_indicator(self) -> None:
        peaks = {"Kenya": "Mount Kenya", "Nepal": "Everest", "Peru": "Huascaran"}
        figures = [
            figure(country, "Elevation", str(len(peak)), None, 2025, label)
            for country, peak in peaks.items()
            for label in (f"highest point: {peak}", "mean elevation")
        ]
        (one,) = tables(*figures).compile(
            "elevation: highest point", EVERYWHERE, of_all=True
        )
        assert one.name == "Elevation: highest point"
        assert sorted(one.by_subject) == sorted(peaks)

    def test_parts_that_a_report_has_side_by_side_stay_apart(self) -> None:
        labels = {"improved: urban": 20, "improved: rural": 20, "improved: total": 20}
        assert without_names(labels) == labels

    def test_a_ranking_is_of_what_is_meant_or_there_is_none(self) -> None:
        """Few subjects have what is meant, and many have something like it."""
        figures = [
            figure(country, "Area", "9", None, 2025)
            for country in ("Kenya", "Mali", "Peru")
        ]
        figures.append(figure("The World", "Area of oceans", "9", None, 2025))
        compile = tables(*figures).compile
        assert compile("area of oceans", EVERYWHERE, of_all=True) == []
        assert compile("area", EVERYWHERE, of_all=True)

    def test_people_alone_are_the_population(self) -> None:
        figures = [
            figure(country, heading, "9", 2024, 2025)
            for country in ("Kenya", "Mali", "Peru")
            for heading in ("Population", "Most people speak")
        ]
        (one,) = tables(*figures).compile("most people", EVERYWHERE, of_all=True)
        assert one.name == "Population"

    def test_two_words_for_one_indicator_are_one_row(self) -> None:
        found = tables(*JOBS, figure("Kenya", "GDP", "9", 2022, 2023)).compile(
            "unemployment rate, joblessness and GDP", EVERYWHERE
        )
        assert [one.name for one in found] == ["Unemployment rate", "GDP"]

    def test_nothing_is_meant_surely(self) -> None:
        assert tables(*JOBS).compile("lions in the wild", EVERYWHERE) == []

    def test_each_thing_of_a_list_gets_a_row_also_without_figures(self) -> None:
        figures = [*JOBS, figure("Kenya", "Public debt", "60", 2022, 2023)]
        names = [
            one.name
            for one in tables(*figures).compile(
                "unemployment rate, public debt and lions", EVERYWHERE
            )
        ]
        assert names == ["Unemployment rate", "Public debt", "lions"]


class TestOverEditions:
    def test_the_newest_edition_says_what_a_year_was(self) -> None:
        (one,) = tables(*JOBS).compile("unemployment rate", EVERYWHERE)
        assert [(f.year, f.text) for f in one.by_subject["Kenya"]] == [
            (2020, "5.5%"),
            (2022, "5.6%"),
        ]

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (("Education expenditures", ""), ("Education expenditure", "")),
            (
                ("Electricity - installed generating capacity", ""),
                ("Electricity", "installed generating capacity"),
            ),
        ],
    )
    def test_a_heading_with_another_name_in_another_edition(
        self, old: tuple[str, str], new: tuple[str, str]
    ) -> None:
        figures = [
            figure("Kenya", name, "5", year, year, label)
            for (name, label), year in ((old, 2021), (new, 2025))
        ]
        found = tables(*figures).compile(
            ": ".join(filter(None, new)), EVERYWHERE, newest=_edition(2025)
        )
        assert [f.edition for f in found[0].by_subject["Kenya"]] == [2021, 2025]

    def test_two_labels_of_one_report_are_never_one_indicator(self) -> None:
        figures = [
            figure("Kenya", "Age structure", "9", 2022, 2023, label)
            for label in ("0-14 years", "0-14 years: male")
        ]
        (one,) = tables(*figures).compile("age structure: 0-14 years", EVERYWHERE)
        assert len(one.by_subject["Kenya"]) == 1


class TestWhatIsSaid:
    def test_a_series_begins_with_how_it_went(self) -> None:
        text = said(Request("series", "unemployment rate"), JOBS, ["Kenya"])
        assert text.startswith(
            "Kenya, Unemployment rate: rose from 5.5% (2020) [1] to 5.6% (2022) [1]."
        )
        assert text.endswith(
            "| Year | Kenya |\n| --- | --- |\n| 2020 | 5.5% [1] |\n| 2022 | 5.6% [1] |"
        )

    def test_the_last_years_are_counted_from_the_newest(self) -> None:
        text = said(Request("series", "unemployment rate", last=2), JOBS, ["Kenya"])
        assert "2020" not in text.partition("\n\nThe last")[0]
        assert text.endswith("\n\nThe last 2 years: 2021 to 2022, the newest here.")

    def test_words_that_say_what_to_do_are_no_thing_of_a_list(self) -> None:
        figures = [*JOBS, figure("Kenya", "Public debt", "60", 2022, 2023)]
        topic = "Compare: unemployment rate, public debt in a table"
        found = tables(*figures).compile(topic, EVERYWHERE)
        assert [one.name for one in found] == ["Unemployment rate", "Public debt"]
        alone = tables(*figures).compile(
            "Compare, unemployment rate, public debt", EVERYWHERE
        )
        assert [one.name for one in alone] == ["Unemployment rate", "Public debt"]

    def test_of_several_subjects_one_sentence_stands_above_their_table(self) -> None:
        more = [
            figure(country, "Unemployment rate", "7", year, 2023)
            for country in ("Mali", "Peru")
            for year in (2020, 2022)
        ]
        text = said(
            Request("series", "unemployment rate"),
            [*JOBS[:3], *more],
            ["Kenya", "Mali", "Peru"],
        )
        first, table, rest = text.split("\n\n")
        assert first.count(": ") == 1
        assert "| 2020 | 5.5% [1] | 7% [2] | 7% [3] |" in table
        assert rest.startswith("Mali, Unemployment rate: ")
        assert "Peru" in rest

    def test_estimates_are_named_once_where_all_are(self) -> None:
        figures = [
            figure("Kenya", "Unemployment rate", "5", year, 2023)
            for year in (2020, 2022)
        ]
        shared = [replace(one, estimate=True) for one in figures]
        text = said(Request("series", "unemployment rate"), shared, ["Kenya"])
        assert "| 2020 | 5% [1] |" in text
        assert text.endswith("All figures of the table are estimates.")
        mixed = [shared[0], figures[1]]
        text = said(Request("series", "unemployment rate"), mixed, ["Kenya"])
        assert text.endswith("| 2020 | 5% (2020 est.) [1] |\n| 2022 | 5% (2022) [1] |")

    def test_a_year_that_is_asked_and_missing_is_shown(self) -> None:
        text = said(
            Request("series", "unemployment rate"),
            JOBS,
            ["Kenya"],
            Values((2019,)),
            Values((2022,)),
        )
        assert "| 2019 | not found |" in text

    def test_a_comparison_has_the_newest_year_that_all_have(self) -> None:
        for edition, mali in (
            (2023, "3% (2022)"),
            (2025, "2% (2023)"),
        ):  # the newer edition replaces the older one
            figures = [*JOBS, figure("Mali", "Unemployment rate", "2", 2023, edition)]
            text = said(
                Request("comparison", "unemployment rate"), figures, ["Kenya", "Mali"]
            )
            assert f"| Unemployment rate | 5.6% (2022) [1] | {mali} [2] |" in text
            assert text.startswith(
                "Unemployment rate: higher in Kenya, 5.6% (2022) [1], than in Mali, "
                f"{mali} [2]."
            )

    def test_a_ranking_says_for_how_many_there_is_a_figure(self) -> None:
        text = said(Request("ranking", "unemployment rate", lowest=True, most=2), JOBS)
        assert text.startswith(
            "Lowest Unemployment rate: Mali, 3% (2022) [1]. Of 3 countries with a "
            "figure, the newest of each:\n\n1. Mali: 3% (2022) [1]\n2. Kenya: 5.6%"
        )

    def test_a_bound_admits_or_counts(self) -> None:
        for bound, relation in (
            (Bound(above=True, value=Decimal(5)), "above 5%"),
            (Bound(above=True, value=Decimal("5.6"), inclusive=True), "at least 5.6%"),
            (Bound(above=False, value=Decimal("5.6"), negated=True), "at least 5.6%"),
        ):
            request = Request("filter", "unemployment rate", bound=bound)
            head, text = said(request, JOBS).split("\n\n")
            assert head.strip() == (
                f"Unemployment rate is {relation} in 2 of 3 countries:"
            )
            assert "Peru: 9% (2021)" in text
            assert "Kenya: 5.6% (2022)" in text

    def test_an_average_is_computed_from_the_newest_figures(self) -> None:
        text = said(Request("aggregate", "unemployment rate"), JOBS)
        assert text.startswith(
            "Average Unemployment rate of 3 countries: 5.87% [1][2][3]."
        )

    def test_changes_between_editions_the_largest_first(self) -> None:
        figures = [
            *JOBS,
            figure("Kenya", "Public debt", "60", 2020, 2021),
            figure("Kenya", "Public debt", "30", 2022, 2023),
        ]
        changes = tables(*figures).changed(_of("Kenya"), 2021, 2023)
        rendered = render_changes(changes, (2021, 2023), in_english)
        assert rendered is not None
        assert rendered.things == ("Public debt", "Unemployment rate")
        assert "| Public debt | 60% (2020) [1] | 30% (2022) [2] |" in rendered.text


def _edition(year: int) -> Scope:
    return Scope.of({"year": Values((year,))})


def _of(country: str) -> Scope:
    return Scope.of({"country_name": Values((country,))})


class TestKeyFigures:
    def key_figures(self, *headings: tuple[str, str]) -> list[str]:
        figures = [
            figure("Kenya", heading, "1", 2022, 2023, label)
            for heading, label in headings
        ]
        measured = tables(*figures).key_figures(
            EVERYWHERE, ["Kenya"], lambda ids: dict.fromkeys(ids, "")
        )
        return [one.heading for one in measured]

    def test_what_people_ask_for_most_stands_first_and_alone(self) -> None:
        assert self.key_figures(
            ("Irrigated land", ""),
            ("Inflation rate (consumer prices)", ""),
            ("Life expectancy at birth", "male"),
            ("Life expectancy at birth", "total population"),
            ("Airports", ""),
            ("GDP (official exchange rate)", ""),
            ("Population", ""),
        ) == [
            "Population",
            "GDP (official exchange rate)",
            "Inflation rate (consumer prices)",
            "Life expectancy at birth",
        ]

    def test_a_report_with_few_of_these_shows_its_own_figures_too(self) -> None:
        assert self.key_figures(
            ("Boreholes drilled", ""), ("Population", ""), ("Boreholes drilled", "dry")
        ) == ["Population", "Boreholes drilled"]


def test_a_total_stands_for_its_heading_before_a_part_of_it() -> None:
    figures = []
    for country in ("Kenya", "Mali", "Peru"):
        for label in ("coal", "total of all"):
            figures.append(figure(country, "Smoke", "5", 2021, 2023, label=label))
    [meant] = tables(*figures).compile("smoke emitted", Scope(), of_all=True)
    assert meant.name == "Smoke: total of all"
    [meant] = tables(*figures).compile("smoke of coal", Scope(), of_all=True)
    assert meant.name == "Smoke: coal"

"""The table of figures in each database: writing and removing versions, look-ups,
pages, and what versions change.
"""

from dataclasses import replace
from decimal import Decimal

import pytest

from chatbot.database.changes import CATALOG, FIGURES
from chatbot.database.core import Database
from chatbot.database.ordinary_indexes import (
    create_missing,
    indexes_of_repositories,
)
from chatbot.database.repositories.figures import FigureRepository
from chatbot.domain import Chunk, DocumentRecord, Scope
from chatbot.domain.scope import Value, Values
from chatbot.language.reported_figures import stated

FIELDS = ("country_name", "year", "type", "document_name")
AGE = "**total:** 20.9 years (2023 est.)\n\n**male:** 20.8 years"


@pytest.fixture
def figures(database: Database) -> FigureRepository:
    create_missing(database, indexes_of_repositories())
    return FigureRepository(database, FIELDS)


def passage(
    text: str,
    country: str,
    edition: int,
    *,
    heading: str,
    version: str = "v1",
    ordinal: int = 0,
) -> Chunk:
    name = f"{country.lower()}-{edition}"
    metadata: dict[str, Value] = {
        "country_name": country,
        "year": edition,
        "type": "country_report",
    }
    return Chunk(
        id=Chunk.make_id(name.replace("-", ""), version, ordinal),
        document_id=name.replace("-", ""),
        document_name=name,
        title=name,
        text=text,
        section=f"Economy › {heading}",
        ordinal=ordinal,
        metadata=metadata,
        collection="reports",
    )


def write(figures: FigureRepository, *chunks: Chunk, version: str = "v1") -> None:
    figures.write(
        chunks[0].document_id,
        version,
        [(chunk, stated(chunk.text)) for chunk in chunks],
    )


@pytest.fixture
def library(figures: FigureRepository) -> FigureRepository:
    """Two editions of Kenya, the later with a revision, and one of Mali."""
    write(
        figures,
        passage(
            "6.11% (2021 est.)\n\n5.4% (2020 est.)", "Kenya", 2023, heading="Inflation"
        ),
        passage(AGE, "Kenya", 2023, heading="Median age", ordinal=1),
    )
    write(
        figures,
        passage(
            "7.7% (2023 est.)\n\n6.1% (2021 est.)", "Kenya", 2025, heading="Inflation"
        ),
    )
    write(figures, passage("2.1% (2023 est.)", "Mali", 2025, heading="INFLATION"))
    return figures


def scope(**values: Value) -> Scope:
    return Scope.of({name: Values((value,)) for name, value in values.items()})


def texts(
    figures: FigureRepository, *, limit: int = 100, **narrowed: object
) -> list[tuple[str, str, str, bool]]:
    page = figures.page(narrowed.pop("scope", Scope()), limit=limit, **narrowed)  # type: ignore[arg-type]
    return [(one.subject, one.indicator, one.text, one.newest) for one in page.figures]


class TestFinding:
    def test_figures_come_back_by_heading_scope_and_year_and_indicators_are_counted(
        self, library: FigureRepository
    ) -> None:
        [figure] = library.find(
            scope(country_name="Kenya"), headings=["median AGE"], label="Male"
        )
        assert (figure.value, figure.unit, figure.text, figure.year) == (
            Decimal("20.8"),
            "years",
            "20.8 years",
            2023,
        )
        assert (figure.estimate, figure.edition, figure.chunk_id) == (
            True,
            2023,
            "kenya2023-v1-00001",
        )
        found = library.find(Scope(), headings=["Inflation"], year=2023)
        assert [(one.subject, one.heading, one.text) for one in found] == [
            ("Kenya", "Inflation", "7.7%"),
            ("Mali", "INFLATION", "2.1%"),
        ]
        assert len(library.find(scope(year=2025))) == 3
        assert library.find(Scope().within(["elsewhere"])) == []
        assert library.indicators(scope(year=2023)) == {
            "Inflation": {"": 1},
            "Median age": {"": 1, "male": 1},
        }
        write(library, passage("5% (2023)", "Peru", 2023, heading="Inflation"))
        assert library.indicators(scope(year=2023))["Inflation"] == {"": 2}

    def test_of_a_report_in_two_versions_only_the_visible_one(
        self, database: Database
    ) -> None:
        visible: dict[str, str] = {}

        class Visible:
            def shows_version(self, document_id: str, version: str) -> bool:
                return visible[document_id] == version

        figures = FigureRepository(database, FIELDS, Visible)
        write(figures, passage("1% (2020)", "Kenya", 2023, heading="Inflation"))
        second = passage("2% (2020)", "Kenya", 2023, heading="Inflation", version="v2")
        visible["kenya2023"] = "v1"
        write(figures, second, version="v2")
        assert [one.text for one in figures.find(Scope())] == ["1%"]
        visible["kenya2023"] = "v2"
        database.changes.announce(["kenya2023"], CATALOG)
        assert texts(figures) == [("Kenya", "Inflation", "2%", True)]
        assert figures.page(Scope(), limit=1).total == 1
        visible["kenya2023"] = ""
        assert texts(figures) == []


class TestPages:
    def test_the_total_is_counted_where_rows_of_other_programs_are_followed(
        self, library: FigureRepository
    ) -> None:
        total = library.page(Scope(), limit=1).total
        library.follow(7, [])
        assert library.page(Scope(), limit=1).total == total > 0

    def test_by_indicator_subject_year_and_edition(
        self, library: FigureRepository
    ) -> None:
        assert texts(library) == [
            ("Kenya", "Inflation", "5.4%", True),
            ("Kenya", "Inflation", "6.11%", False),
            ("Kenya", "Inflation", "6.1%", True),
            ("Kenya", "Inflation", "7.7%", True),
            ("Mali", "INFLATION", "2.1%", True),
            ("Kenya", "Median age", "20.9 years", True),
            ("Kenya", "Median age: male", "20.8 years", True),
        ]
        assert len(texts(library, indicator="median  Age")) == 2
        assert texts(library, indicator="Median age: male") == [
            ("Kenya", "Median age: male", "20.8 years", True)
        ]
        assert texts(library, indicator="Median") == []
        assert len(texts(library, indicator="inflation", year=2021)) == 2
        assert len(texts(library, scope=scope(country_name="Mali"))) == 1

    @pytest.mark.sampled(3)
    @pytest.mark.parametrize("limit", [1, 2, 3, 7])
    def test_pages_of_any_size_are_the_whole(
        self, library: FigureRepository, limit: int
    ) -> None:
        every, found, cursor = library.page(Scope(), limit=100), [], ""
        while True:
            page = library.page(Scope(), limit=limit, after=cursor)
            found += page.figures
            assert page.total == 7
            if page.next is None:
                break
            cursor = page.next
        assert found == list(every.figures)
        assert every.next is None

    def test_what_a_report_repeats_is_listed_once(
        self, figures: FigureRepository
    ) -> None:
        same = [
            passage("5% (2020)", "Kenya", 2023, heading="Inflation", ordinal=place)
            for place in range(3)
        ]
        write(figures, *same)
        assert len(texts(figures)) == 1
        assert len(figures.find(Scope())) == 3

    def test_the_total_of_a_scope(self, library: FigureRepository) -> None:
        for chosen, total in (
            (Scope(), 7),
            (scope(year=2025), 3),
            (scope(document_name="mali-2025"), 1),
        ):
            assert library.page(chosen, limit=2).total == total
        both = [
            passage("5% (2020)", name, 2023, heading="Debt", ordinal=place)
            for place, name in enumerate("AB")
        ]
        write(library, *(replace(chunk, document_id="table") for chunk in both))
        assert library.page(Scope(), limit=2).total == 9
        assert library.page(scope(country_name="B"), limit=2).total == 1


class TestVersions:
    def test_writing_again_changes_nothing(self, library: FigureRepository) -> None:
        before = library.page(Scope(), limit=100)
        write(library, passage("2.1% (2023 est.)", "Mali", 2025, heading="INFLATION"))
        assert library.page(Scope(), limit=100) == before

    def test_removing_keeps_what_is_named(self, library: FigureRepository) -> None:
        write(
            library,
            passage("3% (2023)", "Mali", 2025, heading="Inflation", version="v2"),
            version="v2",
        )
        library.remove("mali2025", keep=["v2"])
        assert [one.text for one in library.find(scope(country_name="Mali"))] == ["3%"]
        library.remove("mali2025")
        assert library.find(scope(country_name="Mali")) == []
        assert len(library.find(scope(country_name="Kenya"))) == 6

    def test_searchable_reports_without_figures_are_missing(
        self, library: FigureRepository, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        records = [
            record("mali2025", "v1"),
            record("mali2025", "v2"),
            record("peru2023", "v1"),
        ]
        assert [(one.id, one.version) for one in library.missing(records)] == [
            ("mali2025", "v2"),
            ("peru2023", "v1"),
        ]
        monkeypatch.setattr("chatbot.database.repositories.figures.READING", 5)
        assert len(library.missing(records)) == 3

    def test_figures_that_a_broken_removal_left_are_still_named(
        self, database: Database, library: FigureRepository
    ) -> None:
        ids = ["mali2025", "peru2023"]
        with database.changes.of(["mali2025"], FIGURES) as change:
            change["figure_versions"].delete_many({"document_id": "mali2025"})
        assert library.stored_of(ids) == ["mali2025"]
        library.remove("mali2025")
        assert library.stored_of(ids) == []


def record(id: str, version: str) -> DocumentRecord:
    return DocumentRecord(id, id, id, "", "reports", "ready", version, {})


class TestChanges:
    def test_a_revision_an_addition_and_a_removal(
        self, figures: FigureRepository
    ) -> None:
        write(
            figures,
            passage(
                "6.11% (2021)\n\n5% (2020)\n\n4% (2019)",
                "Kenya",
                2023,
                heading="Inflation",
            ),
        )
        new = passage(
            "6.2% (2021)\n\n7% (2022)\n\n4% (2019)",
            "Kenya",
            2023,
            heading="Inflation",
            version="v2",
        )
        write(figures, new, version="v2")
        for _ in range(2):
            figures.record_changes("kenya2023", "v1", "v2")
        found = figures.changes("kenya2023")
        assert [
            (one.subject, one.indicator, one.year, one.old, one.new) for one in found
        ] == [
            ("Kenya", "Inflation", 2020, "5%", ""),
            ("Kenya", "Inflation", 2021, "6.11%", "6.2%"),
            ("Kenya", "Inflation", 2022, "", "7%"),
        ]
        assert all(one.at for one in found)
        assert figures.changes("mali2023") == []

    def test_another_subject_alone_is_no_change(
        self, figures: FigureRepository
    ) -> None:
        before = passage("6.11% (2021)\n\n5% (2020)", "", 2023, heading="Inflation")
        after = passage(
            "6.11% (2021)\n\n5.1% (2020)", "Kenya", 2023, heading="Inflation"
        )
        after = replace(after, document_id=before.document_id)
        write(figures, before)
        write(figures, replace(after, id="kenya#2"), version="v2")
        figures.record_changes(before.document_id, "v1", "v2")
        changed = [
            (one.year, one.old, one.new) for one in figures.changes(before.document_id)
        ]
        assert sorted(changed) == [(2020, "", "5.1%"), (2020, "5%", "")]

    def test_a_version_that_is_not_whole_or_came_later_says_nothing(
        self, figures: FigureRepository
    ) -> None:
        write(figures, passage("5% (2020)", "Kenya", 2023, heading="Inflation"))
        write(
            figures,
            passage("6% (2020)", "Kenya", 2023, heading="Inflation", version="v2"),
            version="v2",
        )
        figures.record_changes("kenya2023", "v2", "v1")
        figures.record_changes("kenya2023", "v0", "v1")
        figures.record_changes("kenya2023", "v1", "v3")
        assert figures.changes("kenya2023") == []

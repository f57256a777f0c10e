"""The figures of a report come, change and go with its version, whatever interrupts the
writing.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from chatbot.app.services import Services
from chatbot.database.repositories.caches import refresh
from chatbot.database.repositories.figures import FigureRepository
from chatbot.domain import Scope
from chatbot.domain.errors import DatabaseError
from chatbot.extras.operator.doctor import check_data
from tests.library.helpers import (
    REPORT_ID,
    KilledError,
    ingest,
    raising,
    record_of,
    write,
)
from tests.rows import outside

MODULE = "chatbot.database.repositories.figures"
KILL = f"{MODULE}.FigureRepository"


def report(**figures: str) -> str:
    return "# Kenya\n\n" + "".join(
        f"## {name.title()}\n\n{text}\n\n" for name, text in figures.items()
    )


def stated(services: Services) -> list[tuple[str, str]]:
    return [(one.heading, one.text) for one in services.storage.figures.find(Scope())]


def changes(services: Services) -> list[tuple[str, str, str]]:
    return [
        (one.indicator, one.old, one.new)
        for one in services.storage.figures.changes(REPORT_ID)
    ]


def missing(services: Services) -> int:
    return len(services.storage.figures.missing(services.storage.documents.all()))


def test_a_new_version_replaces_the_figures_and_says_what_differs(
    services: Services, tmp_path: Path
) -> None:
    ingest(services, write(tmp_path, report(debt="40% (2021)", area="5 km")))
    assert stated(services) == [("Debt", "40%"), ("Area", "5 km")]
    ingest(services, write(tmp_path, report(debt="41% (2021)", area="5 km")))
    assert stated(services) == [("Debt", "41%"), ("Area", "5 km")]
    assert changes(services) == [("Debt", "40%", "41%")]
    assert missing(services) == 0


def test_a_deleted_report_takes_its_figures_along(
    services: Services, tmp_path: Path
) -> None:
    ingest(services, write(tmp_path, report(debt="40% (2021)")))
    ingest(services, write(tmp_path, report(debt="41% (2021)")))
    assert changes(services)
    services.ingesting.delete_document(record_of(services), permanent=True)
    assert stated(services) == []
    assert services.storage.database["figure_versions"].count({}) == 0
    assert changes(services) == []


@pytest.mark.parametrize("method", ["put", "remove", "record_changes"])
def test_a_kill_leaves_one_version_and_the_next_run_finishes(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    ingest(services, write(tmp_path, report(debt="40% (2021)")))
    path = write(tmp_path, report(debt="41% (2021)"))
    with monkeypatch.context() as patch:
        patch.setattr(f"{KILL}.{method}", raising(KilledError()))
        with pytest.raises(KilledError):
            ingest(services, path)
    let_lease_end(services)
    assert stated(services) == [("Debt", "40%" if method == "put" else "41%")]
    ingest(services, path)
    assert stated(services) == [("Debt", "41%")]
    assert changes(services) == [("Debt", "40%", "41%")]
    assert missing(services) == 0


@pytest.mark.parametrize("method", ["remove", "record_changes"])
def test_a_start_after_a_kill_removes_the_previous_version(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    ingest(services, write(tmp_path, report(debt="40% (2021)")))
    with monkeypatch.context() as patch:
        patch.setattr(f"{KILL}.{method}", raising(KilledError()))
        with pytest.raises(KilledError):
            ingest(services, write(tmp_path, report(debt="41% (2021)")))
    let_lease_end(services)
    services.ingesting.clear_up()
    assert services.storage.database["figures"].count({}) == 1
    assert (stated(services), changes(services)) == (
        [("Debt", "41%")],
        [("Debt", "40%", "41%")],
    )


def test_a_first_version_whose_figures_are_refused_is_not_visible(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{KILL}.put", raising(DatabaseError("down")))
    with pytest.raises(DatabaseError):
        ingest(services, write(tmp_path, report(debt="40% (2021)")))
    assert record_of(services).visible_version == ""


def test_an_unfinished_version_is_no_change(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(services, write(tmp_path, report(debt="40% (2021)")))
    with monkeypatch.context() as patch:
        patch.setattr(
            "chatbot.database.repositories.figures.GlossaryRepository.put",
            raising(KilledError()),
        )
        with pytest.raises(KilledError):
            ingest(services, write(tmp_path, report(debt="41% (2021)")))
    let_lease_end(services)
    assert stated(services) == [("Debt", "40%")]
    services.ingesting.clear_up()
    assert (stated(services), changes(services)) == ([("Debt", "40%")], [])


class TestMigration:
    def test_reading_the_figures_of_older_reports_is_resumed(
        self, services: Services, tmp_path: Path
    ) -> None:
        for number in range(3):
            path = write(tmp_path, report(debt=f"{number}% (2021)"), f"{number}.md")
            ingest(services, path, identity=f"uploads/{number}.md")
        expected = sorted(stated(services))
        forget(services)
        assert (stated(services), missing(services)) == ([], 3)
        assert "figures_missing" in {finding.name for finding in check_data(services)}
        steps: list[int] = []
        assert (
            services.ingesting.derive_figures(lambda: len(steps) == 1, steps.append)
            == 1
        )
        assert missing(services) == 2
        assert services.ingesting.derive_figures(progress=steps.append) == 2
        assert (sorted(stated(services)), steps) == (expected, [1, 1, 1])
        assert "figures_missing" not in {
            finding.name for finding in check_data(services)
        }

    def test_a_report_that_is_being_written_is_left_to_its_worker(
        self, services: Services, tmp_path: Path
    ) -> None:
        ingest(services, write(tmp_path, report(debt="40% (2021)")))
        forget(services)
        assert services.storage.facts.acquire_lease(
            f"document:{REPORT_ID}", "another", 60
        )
        assert services.ingesting.derive_figures() == 0
        services.storage.facts.release_lease(f"document:{REPORT_ID}", "another")
        assert services.ingesting.derive_figures() == 1

    def test_a_report_replaced_meanwhile_keeps_its_own_figures(
        self, services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Sample reports take another lease than uploads."""
        ingest(services, write(tmp_path, report(debt="40% (2021)")))
        forget(services)
        plain = FigureRepository.write
        with monkeypatch.context() as patch:

            def replaced_first(
                figures: FigureRepository, *arguments: object, **options: Any
            ) -> None:
                patch.setattr(f"{KILL}.write", plain)
                services.storage.facts.release_lease(
                    f"document:{REPORT_ID}", owner(services)
                )
                ingest(services, write(tmp_path, report(debt="41% (2021)")))
                plain(figures, *arguments, **options)  # type: ignore[arg-type]

            patch.setattr(f"{KILL}.write", replaced_first)
            services.ingesting.derive_figures()
        assert stated(services) == [("Debt", "41%")]


def forget(services: Services) -> None:
    """As a database of a release before the table."""
    for name in ("figures", "figure_versions"):
        outside(services.storage.database, name).delete_many({})


def owner(services: Services) -> str:
    row = services.storage.database["meta"].find_one(
        {"_id": f"lease:document:{REPORT_ID}"}
    )
    return str(row["owner"]) if row else ""


def let_lease_end(services: Services) -> None:
    meta = services.storage.database["meta"]
    meta.update_one({"_id": f"lease:document:{REPORT_ID}"}, {"$set": {"until": 0.0}})


class TestManyFigures:
    """A wide table has so many figures that others would wait for seconds while all of
    them are written, or removed, in one transaction.
    """

    ROWS = 12

    @pytest.fixture(autouse=True)
    def few_rows_each_turn(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(f"{MODULE}.MAX_ROWS_PER_WRITE", 5)

    @pytest.fixture
    def library(self, services: Services, tmp_path: Path) -> Services:
        ingest(services, write(tmp_path, self.table("old")))
        return services

    def table(self, value: str) -> str:
        digit = len(value)
        return report(
            **{f"size_{row}": f"{digit}{row}% (2021)" for row in range(self.ROWS)}
        )

    def at_each_turn(
        self, services: Services, monkeypatch: pytest.MonkeyPatch
    ) -> list[object]:
        """Let another connection write between two turns, as another process does, and
        note what readers see.
        """
        seen: list[object] = []
        path = services.settings.data_dir / "report-chat.sqlite"

        def other(seconds: float) -> None:
            with closing(sqlite3.connect(path, timeout=0)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("ROLLBACK")
            seen.append(self.shown(services))

        monkeypatch.setattr(f"{MODULE}.time.sleep", other)
        return seen

    def shown(self, services: Services) -> object:
        refresh(services.storage.database)
        figures = services.storage.figures
        return (
            sorted(stated(services)),
            figures.page(Scope(), year=2021, limit=1).total,
            sorted(figures.indicators(Scope())),
            sorted(figures.reports(Scope())),
        )

    def test_others_write_between_and_see_one_version(
        self, library: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = self.shown(library)
        seen = self.at_each_turn(library, monkeypatch)
        ingest(library, write(tmp_path, self.table("later")))
        after = self.shown(library)
        turns = len(seen) // 2
        assert turns == 3
        assert seen == [before] * turns + [after] * turns
        assert len(changes(library)) == self.ROWS
        assert rows_and_versions(library) == (self.ROWS, 1)

    def test_a_deletion_hides_all_at_once(
        self, library: Services, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = self.shown(library)
        seen = self.at_each_turn(library, monkeypatch)
        library.ingesting.delete_document(record_of(library))
        assert seen == [([], 0, [], [])] * 3
        assert rows_and_versions(library) == (0, 0)
        library.ingesting.service.restore(REPORT_ID)
        assert seen[3:] == [([], 0, [], [])] * 3
        assert self.shown(library) == before

    @pytest.mark.parametrize("turn", range(1, 7))
    def test_a_kill_between_two_turns_leaves_one_version(
        self,
        library: Services,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        turn: int,
    ) -> None:
        before = self.shown(library)
        path = write(tmp_path, self.table("later"))
        with monkeypatch.context() as patch:
            patch.setattr(f"{MODULE}.time.sleep", killed_at(turn))
            with pytest.raises(KilledError):
                ingest(library, path)
        let_lease_end(library)
        is_new = turn > 3
        assert (self.shown(library) == before) != is_new
        library.ingesting.clear_up()
        assert (self.shown(library) == before) != is_new
        assert rows_and_versions(library) == (self.ROWS, 1)
        ingest(library, path)
        assert len(changes(library)) == self.ROWS
        assert (rows_and_versions(library), missing(library)) == ((self.ROWS, 1), 0)

    def test_a_kill_while_a_report_goes_into_the_bin_leaves_no_figures(
        self, library: Services, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(f"{MODULE}.time.sleep", killed_at(2))
            with pytest.raises(KilledError):
                library.ingesting.delete_document(record_of(library))
        assert self.shown(library) == ([], 0, [], [])
        library.ingesting.clear_up()
        assert rows_and_versions(library) == (0, 0)

    def test_a_removal_that_another_work_overtook_removes_nothing(
        self, library: Services, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A report is restored while another process still removes its figures."""
        before = self.shown(library)
        record = record_of(library)
        with monkeypatch.context() as patch:
            patch.setattr(f"{KILL}.sweep", lambda *arguments: None)
            library.ingesting.delete_document(record)
        row = library.storage.database["figure_versions"].find_one({})
        assert row is not None
        library.ingesting.service.restore(REPORT_ID)
        library.storage.figures.sweep(REPORT_ID, row["incomplete"])
        assert self.shown(library) == before


def killed_at(turn: int) -> Callable[[float], None]:
    turns = iter(range(1, turn + 1))

    def pause(seconds: float) -> None:
        if next(turns) == turn:
            raise KilledError

    return pause


def rows_and_versions(services: Services) -> tuple[int, int]:
    database = services.storage.database
    return database["figures"].count({}), database["figure_versions"].count({})

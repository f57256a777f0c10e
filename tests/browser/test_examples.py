"""The example questions of the first page, each tapped after each other one."""

from collections.abc import Iterator

import pytest
from flask import Flask

from benchmarks.tapped import tap_pairs
from chatbot.config import SAMPLE_DATA
from tests.app.web.live import address, application
from tests.browser.conftest import Watched
from tests.conftest import ingest_file, small_settings

__all__ = ["address"]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    with application(small_settings(tmp_path_factory.mktemp("data"))) as made:
        for country in ("kenya", "somalia"):
            path = SAMPLE_DATA / f"country_reports/{country}-2025.md"
            ingest_file(
                made.extensions["services"],
                path,
                path.as_posix(),
                country_name=country.capitalize(),
                year=2025,
            )
        yield made


def test_each_example_is_answered_right_after_each_other_one(
    reused: Watched, address: str
) -> None:
    """`python -m benchmarks.tapped` does so on three libraries."""
    page, problems = reused
    asked = dict(tap_pairs(page, address, countries=0))
    assert len(asked) == 4  # two examples, and two pairs of them
    assert [fault for faults in asked.values() for fault in faults] == []
    assert problems == []

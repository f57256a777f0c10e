"""Without this extra a collection of another program is left alone."""

from pathlib import Path

import pytest

from chatbot.app.services import build
from chatbot.domain.errors import SettingsError
from tests.extras.rows_of_others.test_foreign_collections import (
    proxy,
    settings_of,
    written_to_theirs,
)
from tests.fakes.wire_proxy import WireProxy

__all__ = ("proxy",)


@pytest.mark.parametrize("layout", ["langchain"])
def test_the_start_stops_and_writes_nothing_to_it(
    proxy: WireProxy, tmp_path: Path
) -> None:
    settings = settings_of(tmp_path, mongodb_uri=proxy.uri, extras="none")
    stops = pytest.raises(SettingsError, match=r"add rows_of_others to EXTRAS")
    with build(settings) as services, stops:
        services.prepare()
    assert written_to_theirs(proxy) == []


def test_schema_stops_the_start(tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path, mongodb_uri="mongodb://127.0.0.1:1", schema="langchain", extras="none"
    )
    with pytest.raises(SettingsError, match=r"SCHEMA.*'rows_of_others'"):
        build(settings)

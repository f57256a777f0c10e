"""Hundreds of damaged and hostile files: each is refused by name or becomes a
consistent document, and we live on.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatbot.domain import Loaded
from chatbot.domain.documents import document_text
from chatbot.domain.errors import LoadError
from chatbot.library.loaders.isolation import LoaderPool
from tests.campaigns import times
from tests.library.loaders.damage import Damaged, damaged_files
from tests.library.loaders.samples import good_files

resource = pytest.importorskip("resource")

SEED, COUNT = 4, times("FILES", 120)
MAX_GROWTH = 300 * 1024**2


@pytest.fixture(scope="module")
def loader() -> Iterator[LoaderPool]:
    loader = LoaderPool(1, time_limit=60)
    yield loader
    loader.close()


def outcome(loader: LoaderPool, path: Path) -> Loaded | str:
    try:
        return loader.load(path)
    except LoadError as error:
        return error.message


def problems(file: Damaged, found: Loaded | str) -> Iterator[str]:
    if isinstance(found, str):
        if not found.startswith(file.name):
            yield f"the message does not name the file: {found}"
        if any(part in found for part in ("/", "Traceback", "Error(", "0x")):
            yield f"the message is not for people: {found}"
        if "its process ended" in found or "needs more" in found:
            yield f"a loader let it through: {found}"
        return
    if file.hopeless:
        yield (
            f"is not refused, but read as {found.title!r}: "
            f"{document_text(found.sections)[:80]!r}"
        )
    text = document_text(found.sections)
    if not found.title.strip() or not found.sections:
        yield "has no title or no sections"
    for section in found.sections:
        end = section.start + len(section.text)
        if (
            not section.text.strip()
            or section.text != section.text.strip()
            or text[section.start : end] != section.text
        ):
            yield (
                f"a section is empty, not stripped or misplaced: {section.path} "
                f"{section.text[:80]!r}"
            )


def test_the_good_files_are_read(loader: LoaderPool, tmp_path: Path) -> None:
    """Else the damaged ones would prove nothing."""
    for name, content in good_files().items():
        (tmp_path / name).write_bytes(content)
        found = loader.load(tmp_path / name)
        assert list(problems(Damaged(name, content), found)) == []
        assert isinstance(found, Loaded)
        assert len(document_text(found.sections)) > 5


@pytest.mark.nightly
def test_damaged_files_are_refused_by_name_or_read_consistently(
    loader: LoaderPool, tmp_path: Path
) -> None:
    files = damaged_files(SEED, COUNT)
    assert len({file.name.split("-", 1)[1] for file in files}) > 100
    before = peak_memory()
    found: list[str] = []
    for file in files:
        path = tmp_path / file.name
        path.write_bytes(file.content)
        found += [
            f"{file.name}: {problem}"
            for problem in problems(file, outcome(loader, path))
        ]
        path.unlink()
    assert not found, "\n" + "\n".join(found)
    assert peak_memory() - before < MAX_GROWTH


def peak_memory() -> int:
    """Bytes that this process has held at most."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024

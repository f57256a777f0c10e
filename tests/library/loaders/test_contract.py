"""What holds for every registered loader, asked of the registry: a new one is tested
without a line here.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatbot.domain import Cancellation
from chatbot.domain.documents import document_text
from chatbot.domain.errors import CancelledError, LoadError
from chatbot.library.loaders import (
    LOADERS,
    FileLoader,
    Fit,
    Sample,
    all_loaders,
    detect,
    loader_for,
    suffixes,
)
from chatbot.library.loaders.isolation import LoaderPool
from tests.library.loaders.samples import good_files

QUESTIONS = json.loads(
    (Path(__file__).parents[1] / "data" / "foreign.json").read_text("utf-8")
)["questions"]
NAMES = LOADERS.names()
FILES = {
    name: content
    for name, content in sorted(good_files().items())
    if name.startswith("a.")
}


@pytest.fixture(params=NAMES)
def loader(request: pytest.FixtureRequest) -> FileLoader:
    return LOADERS.builder(request.param)()


@pytest.fixture
def path(loader: FileLoader, tmp_path: Path) -> Path:
    """A small sound file of the loader's format."""
    name, content = next(
        ((n, c) for n, c in FILES.items() if Path(n).suffix in loader.suffixes),
        ("", b""),
    )
    if not name:
        pytest.skip(
            f"there is no small file of {loader.noun} in "
            "tests/library/loaders/samples.py"
        )
    path = tmp_path / name
    path.write_bytes(content)
    return path


@pytest.fixture(scope="module")
def isolated() -> Iterator[LoaderPool]:
    loader = LoaderPool(1)
    yield loader
    loader.close()


def test_every_loader_names_its_kind_and_its_suffixes(loader: FileLoader) -> None:
    assert loader.noun
    assert isinstance(loader.isolated, bool)
    assert loader.suffixes
    assert all(
        suffix.startswith(".") and suffix == suffix.lower()
        for suffix in loader.suffixes
    )
    assert set(loader.suffixes) <= set(suffixes())


def test_no_two_read_one_suffix() -> None:
    assert sorted(
        s for loader in all_loaders().values() for s in loader.suffixes
    ) == list(suffixes())


def test_its_file_is_detected_with_and_without_its_name(
    loader: FileLoader, path: Path
) -> None:
    assert type(loader_for(path)) is type(loader)
    bare = path.rename(path.with_name("report"))
    assert detect(bare) in NAMES


def test_bytes_of_nothing_are_not_its_format(loader: FileLoader, path: Path) -> None:
    assert loader.fit(Sample(path.with_name("a.bin"), bytes(range(32)), None)) is Fit.NO


def test_sections_are_laid_out_and_pages_counted(
    loader: FileLoader, path: Path
) -> None:
    loaded = loader.load(path)
    text = document_text(loaded.sections)
    assert loaded.title.strip()
    assert loaded.sections
    for section in loaded.sections:
        assert section.text == section.text.strip() != ""
        assert text[section.start : section.start + len(section.text)] == section.text
        assert section.page is None or (
            loaded.pages is not None and 1 <= section.page <= loaded.pages
        )


def test_a_missing_file_is_named(loader: FileLoader, path: Path) -> None:
    gone = path.with_name(f"gone{path.suffix}")
    with pytest.raises(LoadError, match=rf"^{gone.name} cannot be read: No such file"):
        loader.load(gone)


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 2000, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" * 50]
)
def test_what_is_no_document_is_refused_by_name(
    path: Path, content: bytes, isolated: LoaderPool
) -> None:
    path.write_bytes(content)
    with pytest.raises(LoadError, match=rf"^{path.name} "):
        isolated.load(path)


@pytest.mark.slow
def test_it_reads_the_same_in_a_process_of_its_own(
    loader: FileLoader, path: Path, isolated: LoaderPool
) -> None:
    assert isolated.load(path) == loader.load(path)
    assert not loader.isolated or isolated._all[0]._child is not None


def test_a_cancelled_file_is_not_read(loader: FileLoader, path: Path) -> None:
    cancel = Cancellation()
    cancel.cancel()
    reading = LoaderPool(1)
    try:
        if loader.isolated:
            with pytest.raises(CancelledError):
                reading.load(path, cancel=cancel)
        else:  # it is read before anybody could cancel it
            assert reading.load(path, cancel=cancel).sections
    finally:
        reading.close()


def test_documents_of_other_programs_keep_what_is_asked_of_them(tmp_path: Path) -> None:
    from benchmarks.foreign_documents import (
        write_documents,
    )  # late: a copy of the tests alone has no benchmarks

    texts = {
        path.name: document_text(loader_for(path).load(path).sections)
        for path in write_documents(tmp_path)
    }
    assert [
        row["id"]
        for row in QUESTIONS
        if not any(re.search(p, texts[row["file"]]) for p in row["match"])
    ] == []
    assert not any(
        re.search(
            r"^\||DRAFT|^[ART F]{3}$|\.{4}|#adm1|Draft 2025|Old museum", text, re.M
        )
        for text in texts.values()
    )

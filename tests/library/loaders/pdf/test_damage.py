"""Damaged PDFs: whatever pdfminer makes of them, an error names the file, and the log
stays quiet.
"""

import logging
import re
from pathlib import Path

import pytest

from chatbot.domain import Loaded
from chatbot.domain.errors import LoadError
from chatbot.library.loaders import read_file
from chatbot.library.loaders.pdf import PdfLoader
from chatbot.library.loaders.pdf.pages import PLAIN_NOTE
from tests.library.loaders.pdfs import Page, prose, write


@pytest.fixture
def report(tmp_path: Path) -> Path:
    page = Page().text(72, 100, "Head", size=16).lines(72, 130, prose("Body", 5))
    page.grid((72, 200, 300), (300, 320, 340)).row(
        314, [(80, "Item"), (210, "Value")]
    ).row(334, [(80, "a"), (210, "7")])
    return write(
        tmp_path / "report.pdf",
        [page, Page().lines(72, 100, prose("Two", 4)).scan()],
        title="A Title",
    )


def outcome(path: Path) -> Loaded | str:
    """What the file is read as, or the error's message. Any other exception fails the
    test.
    """
    try:
        return read_file(PdfLoader(), path)
    except LoadError as error:
        return error.message


def test_a_wrong_index_in_a_whole_file_is_no_obstacle(report: Path) -> None:
    content = report.read_bytes()
    report.write_bytes(re.sub(rb"startxref\n\d+", b"startxref\n7", content))
    assert [section.page for section in PdfLoader().load(report).sections] == [1, 2]


WRONG = {
    "no pages": (rb"/Kids \[[^]]*\]", b"/Kids []"),
    "a page box of one number": (rb"/MediaBox \[[^]]*\]", b"/MediaBox [7]"),
    "a page box of names": (rb"/MediaBox \[[^]]*\]", b"/MediaBox [/A /B /C /D]"),
    "a rotation that is none": (rb"/Type /Page ", b"/Type /Page /Rotate /X "),
    "resources that are none": (rb"/Resources <<", b"/Resources 7 /Other <<"),
    "fonts that are none": (rb"/Font << /F1 3 0 R", b"/Font << /F1 (s)"),
    "a catalogue that is a number": (rb"<< /Type /Catalog[^>]*>>", b"7"),
}


@pytest.mark.parametrize(("find", "put"), WRONG.values(), ids=WRONG)
def test_wrong_objects_are_refused_or_read(
    report: Path, find: bytes, put: bytes
) -> None:
    content, count = re.subn(find, put, report.read_bytes())
    assert count
    report.write_bytes(content)
    found = outcome(report)
    assert found.startswith("report.pdf ") if isinstance(found, str) else found.sections


def test_pdfminers_complaints_stay_out_of_the_log(
    report: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    report.write_bytes(
        report.read_bytes()
        .replace(b"/MediaBox", b"/NoMediaBox")
        .replace(b"startxref", b"startx")
    )
    found = outcome(report)
    assert isinstance(found, Loaded)
    assert found.notes == (PLAIN_NOTE.format(pages="pages 1, 2"),)
    assert caplog.records == []

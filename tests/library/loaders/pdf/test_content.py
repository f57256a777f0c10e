"""What a page draws is the same as where pdfminer's own lexer reads it."""

import random
from pathlib import Path

import pdfplumber
import pytest
from pdfminer.pdfinterp import PDFPageInterpreter
from pdfminer.psexceptions import PSException

from chatbot.library.loaders.pdf import drawing
from chatbot.library.loaders.pdf.drawing import ContentInterpreter, UnusualError
from tests.data import cases
from tests.library.loaders.pdfs import Page, write

INLINE = "BI /W 1 /H 1 /CS /G /BPC 8 ID \x80 EI"
CASES = cases(__file__)
CONTENTS = CASES["contents"]
UNUSUAL = CASES["unusual"]


def drawn(path: Path) -> tuple[object, ...]:
    """The letters and shapes of the only page; where pdfminer gives up, what it
    raises.
    """
    with path.open("rb") as file:
        page = next(drawing.pages_of(pdfplumber.open(file)))
        try:
            return page.objects, page.letters
        except (PSException, TypeError, ValueError, AssertionError) as error:
            return (type(error),)


def by_pdfminer(path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[object, ...]:
    with monkeypatch.context() as patch:
        patch.setattr(drawing, "ContentInterpreter", PDFPageInterpreter)
        return drawn(path)


@pytest.mark.parametrize("ops", CONTENTS.values(), ids=CONTENTS)
def test_a_page_is_drawn_as_pdfminer_draws_it(
    ops: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "p.pdf", [Page([ops])])
    expected = by_pdfminer(path, monkeypatch)
    monkeypatch.setattr(PDFPageInterpreter, "execute", None)  # it is not needed
    assert drawn(path) == expected
    assert any(expected)


@pytest.mark.parametrize("ops", UNUSUAL.values(), ids=UNUSUAL)
def test_what_is_unusual_is_left_to_pdfminer(
    ops: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "p.pdf", [Page([ops])])
    read = list[bool]()

    def noted(self: ContentInterpreter, page: object) -> None:
        with pytest.raises(UnusualError):
            PDFPageInterpreter.process_page(self, page)  # type: ignore[arg-type]
        read.append(True)
        raise UnusualError

    monkeypatch.setattr(ContentInterpreter, "process_page", noted)
    assert drawn(path) == by_pdfminer(path, monkeypatch)
    assert read


@pytest.mark.parametrize("seed", range(40))
def test_any_mixture_of_tokens_is_read_alike(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    pieces = [
        word
        for ops in (*CONTENTS.values(), *(UNUSUAL.values() if seed % 2 else ()))
        for word in ops.split(" ")
    ]
    ops = " ".join(chance.choices(pieces, k=60)) + " BT /F1 10 Tf 72 700 Td (end) Tj ET"
    path = write(tmp_path / "p.pdf", [Page([ops])])
    assert drawn(path) == by_pdfminer(path, monkeypatch)

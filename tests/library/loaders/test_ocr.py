"""Pictures of text, read with the extra `ocr`."""

from collections.abc import Iterator
from dataclasses import replace
from email.message import EmailMessage
from pathlib import Path

import pytest

from chatbot.app.services import build
from chatbot.config.settings import Settings
from chatbot.domain import Cancellation
from chatbot.domain.errors import LoadError
from chatbot.library.loaders.isolation import UPLOAD_LIMITS, LoaderPool
from chatbot.library.loaders.ocr import INSTALLED
from tests.library.loaders.pdfs import Page, prose, write

pytestmark = pytest.mark.skipif(
    not INSTALLED, reason="needs the extra ocr (requirements-ocr.txt)"
)
LINES = [
    "Harvest report of Kenya",
    "Maize yields rose by 12 percent in 2023.",
    "",
    "Region      2022      2023",
]
LINES += [
    "Coast      1,204      1,318",
    "Nyanza      2,410      2,655",
    "Central      3,120      3,377",
]


@pytest.fixture(scope="module")
def pool() -> Iterator[LoaderPool]:
    pool = LoaderPool(1, limits=replace(UPLOAD_LIMITS, ocr_pages=2))
    yield pool
    pool.close()


def draw(path: Path, *, angle: float = 0, pages: int = 1) -> Path:
    """Draw the lines as a picture, in columns; as a PDF on each of its pages."""
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.new("RGB", (1240, 1754), "white")
    drawing = ImageDraw.Draw(picture)
    for at, line in enumerate(LINES):
        for place, cell in enumerate(line.split("      ")):
            drawing.text(
                (150 + 300 * place, 200 + 60 * at),
                cell,
                "black",
                ImageFont.load_default(30),
            )
    picture = picture.rotate(angle, fillcolor="white")
    if path.suffix == ".pdf":
        picture.save(
            path, resolution=150, save_all=True, append_images=[picture] * (pages - 1)
        )
    else:
        picture.save(path)
    return path


@pytest.mark.parametrize(("name", "angle"), [("scan.png", 0), ("photo.jpg", 1.5)])
def test_text_and_tables_of_a_picture_are_read(
    pool: LoaderPool, tmp_path: Path, name: str, angle: float
) -> None:
    loaded = pool.load(draw(tmp_path / name, angle=angle))
    text = "\n".join(section.text for section in loaded.sections)
    assert "Maize yields rose by 12 percent in 2023." in text
    assert "Region: Nyanza; 2022: 2,410; 2023: 2,655" in text
    assert all(
        section.page == 1 and (section.confidence or 0) > 0.95
        for section in loaded.sections
    )


def test_pages_are_read_up_to_the_limit_with_progress(
    pool: LoaderPool, tmp_path: Path
) -> None:
    begun: list[tuple[int, int]] = []
    loaded = pool.load(
        draw(tmp_path / "scan.pdf", pages=3), on_page=lambda *page: begun.append(page)
    )
    assert [page for page in begun if not page[1]] == [(1, 0), (2, 0)]
    assert {section.page for section in loaded.sections} == {1, 2}
    assert loaded.notes[0].startswith("1 of 3 pages are images.")
    assert loaded.notes[1] == "OCR read 2 of 3 pages, which are images."


def test_a_damaged_picture_and_one_without_text_are_named(
    pool: LoaderPool, tmp_path: Path
) -> None:
    path = draw(tmp_path / "scan.png")
    path.write_bytes(path.read_bytes()[:2_000])
    with pytest.raises(LoadError, match=r"scan\.png is damaged or cut short\."):
        pool.load(path)
    with pytest.raises(
        LoadError, match=r"r\.pdf has no text: .* OCR found nothing to read in it\."
    ):
        pool.load(write(tmp_path / "r.pdf", [Page().scan()]))


def test_pictures_in_a_mail_are_read_under_their_names(
    pool: LoaderPool, tmp_path: Path
) -> None:
    mail = EmailMessage()
    mail["Subject"], image = "Harvest", draw(tmp_path / "scan.png").read_bytes()
    for name, content in (("a.png", image), ("b.png", image[:2_000])):
        mail.add_attachment(content, maintype="image", subtype="png", filename=name)
    (tmp_path / "m.eml").write_bytes(mail.as_bytes())
    loaded = pool.load(tmp_path / "m.eml")
    (section,) = (one for one in loaded.sections if "Nyanza" in one.text)
    assert (section.path[0], section.page, (section.confidence or 0) > 0.95) == (
        "a.png",
        None,
        True,
    )
    assert loaded.notes[0].endswith("Add them as files: b.png.")


def test_pages_with_text_are_not_read_by_ocr(pool: LoaderPool, tmp_path: Path) -> None:
    loaded = pool.load(
        write(tmp_path / "r.pdf", [Page().lines(72, 100, prose("One", 4)).scan()])
    )
    assert [section.confidence for section in loaded.sections] == [None]


def test_a_picture_that_is_attached_to_a_question_is_read(tmp_path: Path) -> None:
    with build(Settings(data_dir=tmp_path / "data", sample_data="off")) as services:
        document = services.attachments.read(
            draw(tmp_path / "scan.png"), "scan.png", Cancellation()
        )
    assert "Region: Nyanza; 2022: 2,410; 2023: 2,655" in document.sections[0].text

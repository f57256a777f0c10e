"""E-mails, e-books, old Office files and archives: what is read of them, and what their
notes and errors say.
"""

from email.message import EmailMessage
from pathlib import Path
from zipfile import ZipFile

import pytest

from chatbot.domain import Loaded
from chatbot.domain.errors import LoadError
from chatbot.library.archives import unpack
from chatbot.library.loaders import loader_for
from tests.library.loaders.damage import zipped
from tests.library.loaders.samples import e_book, good_files
from tests.library.loaders.test_detection import ole, written


def load(tmp_path: Path, name: str, content: bytes) -> Loaded:
    path = written(tmp_path, content, name)
    return loader_for(path).load(path)


@pytest.mark.parametrize(
    ("kind", "charset"), [("plain", "utf-8"), ("html", "iso-8859-1")]
)
def test_a_mail_is_its_text_below_its_head(
    tmp_path: Path, kind: str, charset: str
) -> None:
    mail = EmailMessage()
    mail["Subject"], mail["From"], mail["Date"] = (
        "Prices in Mali",
        "A <a@x.org>",
        "Wed, 01 May 2024 10:00:00 +0000",
    )
    mail.set_content(
        "Größe wächst." if kind == "plain" else "<p>Größe wächst.</p>",
        subtype=kind,
        charset=charset,
    )
    mail.add_attachment(
        b"%PDF", maintype="application", subtype="pdf", filename="r.pdf"
    )
    loaded = load(tmp_path, "a.eml", mail.as_bytes())
    head = "From: A <a@x.org>\nDate: Wed, 01 May 2024 10:00:00 +0000"
    assert [section.text for section in loaded.sections] == [head, "Größe wächst."]
    assert (loaded.title, loaded.properties["created"]) == (
        "Prices in Mali",
        "Wed, 01 May 2024 10:00:00 +0000",
    )
    assert loaded.notes == ("Attachments left out: 1. Add them as files: r.pdf.",)


class TestBooks:
    def test_chapters_are_read_in_the_order_of_the_spine(self, tmp_path: Path) -> None:
        book = e_book(
            "<img/>",
            "<h1>Land</h1><h2>Area</h2><p>It is big.</p>",
            "<h1>People</h1><p>Many.</p>",
        )
        loaded = load(tmp_path, "a.epub", book)
        assert [(one.path, one.text) for one in loaded.sections] == [
            (("Land", "Area"), "It is big."),
            (("People",), "Many."),
        ]
        assert (loaded.title, loaded.properties["created"]) == ("Kenya", "2024-05-01")
        assert loaded.notes == ("Pages without text: 1.",)

    @pytest.mark.parametrize(
        ("book", "problem"),
        [
            (e_book("<img/>"), "has no text that can be read"),
            (
                e_book("<p>a</p>", encryption='<a URI="EPUB/c 0.xhtml"/>'),
                "is protected against copying",
            ),
            (
                zipped({"META-INF/container.xml": b"<container/>"}),
                "is damaged or is not an e-book",
            ),
        ],
    )
    def test_what_cannot_be_read_is_refused_by_name(
        self, tmp_path: Path, book: bytes, problem: str
    ) -> None:
        with pytest.raises(LoadError, match=rf"^a\.epub {problem}"):
            load(tmp_path, "a.epub", book)


class TestOldOffice:
    def test_without_libreoffice_it_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        for stream, suffix in (
            ("WordDocument", "doc"),
            ("Book", "xls"),
            ("PowerPoint Document", "ppt"),
        ):
            with pytest.raises(
                LoadError,
                match=rf"^a\.{suffix} is an old Office file\. .*install LibreOffice",
            ):
                load(tmp_path, f"a.{suffix}", ole(stream))

    def test_with_libreoffice_it_is_converted(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The arguments are those of `soffice --convert-to` (LibreOffice 7.4 Help,
        "Starting LibreOffice").
        """
        (tmp_path / "made.docx").write_bytes(good_files()["a.docx"])
        script = (
            '#!/bin/sh\n[ "$2 $4" = "--headless --convert-to" ] && /bin/cp '
            f'{tmp_path}/made.docx "$7/a.$5"\n'
        )
        program = written(tmp_path, script.encode(), "soffice")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        assert (
            load(tmp_path, "a.doc", ole("WordDocument"))
            .sections[0]
            .text.startswith("Many people live in Kenya.")
        )
        with pytest.raises(
            LoadError, match=r"^LibreOffice cannot read b\.doc\. Save it as \.docx"
        ):
            load(tmp_path, "b.doc", ole("WordDocument"))


class TestArchives:
    def test_members_are_unpacked_inside_of_the_folder(self, tmp_path: Path) -> None:
        packed = zipped(
            {"x/a.md": b"one", "a.md": b"two", "x/.b.md": b"", "__MACOSX/a": b""}
        )
        archive = written(tmp_path, packed, "a.zip")
        members = list(unpack(archive, tmp_path / "in", most=2, max_bytes=10))
        assert [(name, path.name, path.read_bytes()) for name, path in members] == [
            ("x/a.md", "a.md", b"one"),
            ("a.md", "a.md", b"two"),
        ]
        assert all((tmp_path / "in") in path.parents for _, path in members)

    @pytest.mark.parametrize(
        ("parts", "problem"),
        [
            ({"a": b"", "b": b"", "c": b""}, "has more than 2 files"),
            (
                {"a.md": bytes(3 * 1024**2)},
                "a.md exceeds the limit of 2 MB when unpacked",
            ),
            ({"../a.md": b"x"}, "points outside of the file"),
        ],
    )
    def test_an_archive_above_a_limit_is_refused(
        self, tmp_path: Path, parts: dict[str, bytes], problem: str
    ) -> None:
        archive = tmp_path / "a.zip"
        with ZipFile(archive, "w") as file:
            for name, content in parts.items():
                file.writestr(name, content)
        with pytest.raises(LoadError, match=problem):
            list(unpack(archive, tmp_path / "in", most=2, max_bytes=2 * 1024**2))

"""What a document says about its publication, and what it does not say."""

import email.message
import time
from pathlib import Path

import docx
import pytest

from chatbot.domain.documents import Proposal, Publication
from chatbot.library.description import propose
from chatbot.library.loaders import loader_for
from chatbot.library.sources import Source, make_document

NAMES = ("publisher", "authors", "publication_date", "source_url")


def read(path: Path) -> Publication:
    loaded = loader_for(path).load(path)
    return make_document(Source(path, f"uploads/{path.name}"), loaded).publication


def read_text(tmp_path: Path, text: str, name: str = "report.md") -> Publication:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read(path)


def proposed(tmp_path: Path, text: str) -> dict[str, Proposal]:
    path = tmp_path / "report.md"
    path.write_text(text, encoding="utf-8")
    found = propose(loader_for(path).load(path), path)
    return {one.field: one for one in found if one.field in NAMES}


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        (
            "Published by the Lake Trust, Mwanza, 3 February 2025",
            "publisher",
            "Lake Trust",
        ),
        ("Published by the Lake Trust, Mwanza", "publisher", "Lake Trust"),
        ("Publié par : Institut des Lacs", "publisher", "Institut des Lacs"),
        (
            "Publicado por el Ministerio de Agua, Suelo y Riego, Lima",
            "publisher",
            "Ministerio de Agua, Suelo y Riego",
        ),
        ("Editora: Casa do Rio", "publisher", "Casa do Rio"),
        ("الناشر: معهد البحيرات", "publisher", "معهد البحيرات"),
        (
            "**Authors:** Ada Lo, Ben Ra and Cy de Wit",
            "authors",
            "Ada Lo; Ben Ra; Cy de Wit",
        ),
        ("Author: Lo, Ada", "authors", "Lo, Ada"),
        (
            "Prepared by the Ministry of Land and Water",
            "authors",
            "Ministry of Land and Water",
        ),
        ("By Ada Lo and Ben Ra", "authors", "Ada Lo; Ben Ra"),
        ("Date of publication: 3 May 2024", "publication_date", "2024-05-03"),
        ("Publié le 18 mai 2026", "publication_date", "2026-05-18"),
        (
            "Published by the Lake Trust, 3 February 2025",
            "publication_date",
            "2025-02-03",
        ),
        ("Publication date: March 2024", "publication_date", "2024-03"),
        ("Mwanza, 12 March 2025", "publication_date", "2025-03-12"),
        (
            "Available at https://example.org/lakes.pdf.",
            "source_url",
            "https://example.org/lakes.pdf",
        ),
        ("DOI: 10.1234/lakes.2024", "source_url", "https://doi.org/10.1234/lakes.2024"),
    ],
)
def test_a_label_or_a_phrase_of_the_title_page_states_a_field(
    tmp_path: Path, line: str, field: str, value: str
) -> None:
    found = proposed(
        tmp_path, f"# Lakes of the valley\n\n{line}\n\n## Water\n\nIt rose.\n"
    )
    assert found[field].value == value
    assert found[field].taken
    assert found[field].words == line.replace("**", "")


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("© 2024 Lake Trust. All rights reserved.", "publisher"),
        ("Ministry of Land and Water", "publisher"),
        ("Ada Lo, Ben Ra", "authors"),
        ("March 2024", "publication_date"),
    ],
)
def test_a_line_that_only_looks_like_a_field_is_proposed(
    tmp_path: Path, line: str, field: str
) -> None:
    text = f"# Lakes of the valley\n\n{line}\n\n## Water\n\nIt rose.\n"
    assert not proposed(tmp_path, text)[field].taken
    assert read_text(tmp_path, text) == Publication()


@pytest.mark.parametrize(
    "text",
    [
        "# Lakes\n\nThe date of the meeting is open. By tradition, fishing stops.\n",
        "# Lakes\n\nBy the end of 2024 it rose.\n\nPublished data are rare.\n",
        "# Minutes of the meeting\n\n12 March 2025\n\n## Present\n\nAll.\n",
        "# Lakes\n\nAuthor: Microsoft Office User\n\nPublisher: Adobe InDesign CS6\n",
        "# Books\n\nAuthor: Ada Lo; Title: Rain; Year: 2001\n",
        "# Lakes\n\nAvailable at the office.\n",
    ],
)
def test_nothing_is_guessed(tmp_path: Path, text: str) -> None:
    assert read_text(tmp_path, text) == Publication()


@pytest.mark.parametrize("character", ["a", "1", "*"])
def test_a_long_word_costs_no_more_than_its_length(
    tmp_path: Path, character: str
) -> None:
    """In the server's own process 100,000 letters took half a minute."""
    path = tmp_path / "line.txt"
    path.write_text(character * 100_000 + "b")
    loaded = loader_for(path).load(path)
    began = time.process_time()
    propose(loaded, path, ())
    assert time.process_time() - began < 5


def test_rows_of_a_table_say_nothing_about_the_table(tmp_path: Path) -> None:
    rows = "author,publisher,date,url\nAda Lo,Lake Trust,2020-01-02,https://a.example\n"
    assert read_text(tmp_path, rows, "books.csv") == Publication()


def test_a_web_page_states_its_publication_in_its_head(tmp_path: Path) -> None:
    page = """<html><head><title>Floods</title>
    <meta property="og:site_name" content="River Watch">
    <link rel="canonical" href="https://example.org/floods">
    <script type="application/ld+json">{"@graph": [{"@type": "Article",
    "author": [{"name": "Ada Lo"}, {"name": "Ben Ra"}],
    "datePublished": "2025-05-03T08:00:00Z"}]}</script></head>
    <body><h1>Floods</h1><p>The river rose to four metres.</p></body></html>"""
    assert read_text(tmp_path, page, "floods.html") == Publication(
        "River Watch", ("Ada Lo", "Ben Ra"), "2025-05-03", "https://example.org/floods"
    )


@pytest.mark.parametrize("data", ["{", "[" * 5000, '{"author": {"name": 5}}', "7"])
def test_broken_data_of_a_page_states_nothing(tmp_path: Path, data: str) -> None:
    page = (
        f'<html><head><script type="application/ld+json">{data}</script></head>'
        "<body><h1>Floods</h1><p>The river rose.</p></body></html>"
    )
    assert read_text(tmp_path, page, "floods.html") == Publication()


def test_front_matter_states_it(tmp_path: Path) -> None:
    text = (
        "---\nauthors: [Ada Lo, Ben Ra]\npublisher: Lake Trust\ndate: 2024-03-01\n"
        "url: https://example.org/lakes\n---\n\n# Lakes\n\nIt rose.\n"
    )
    assert read_text(tmp_path, text) == Publication(
        "Lake Trust", ("Ada Lo", "Ben Ra"), "2024-03-01", "https://example.org/lakes"
    )


def test_a_mail_was_published_by_its_sender_on_its_day(tmp_path: Path) -> None:
    message = email.message.EmailMessage()
    message["From"] = "Ada Lo <ada@example.org>"
    message["Date"] = "Tue, 13 May 2025 10:00:00 +0000"
    message.set_content("The convoy is late.")
    path = tmp_path / "convoy.eml"
    path.write_bytes(message.as_bytes())
    assert read(path) == Publication(authors=("Ada Lo",), publication_date="2025-05-13")


@pytest.mark.parametrize(
    ("author", "authors"),
    [
        ("Ada Lo", ("Ada Lo",)),
        ("Ada Lo; Ben Ra", ("Ada Lo", "Ben Ra")),
        ("python-docx", ()),
        ("Microsoft Office User", ()),
        ("alo", ()),
        ("Windows 10", ()),
        ("UNKP", ()),
        ("HYDRA", ("HYDRA",)),
    ],
)
def test_the_author_in_the_properties_is_no_program_and_no_login(
    tmp_path: Path, author: str, authors: tuple[str, ...]
) -> None:
    document = docx.Document()
    document.core_properties.author = author
    document.add_heading("Lakes", 1)
    document.add_paragraph("HYDRA measures the lakes.")
    path = tmp_path / "lakes.docx"
    document.save(str(path))
    assert read(path).authors == authors


def test_what_a_person_and_a_manifest_state_wins(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    path.write_text("# Lakes\n\nPublished by the Lake Trust\n\nIt rose.\n", "utf-8")
    loaded = loader_for(path).load(path)
    source = Source(path, "report.md", publication=Publication(publisher="Office"))
    assert make_document(source, loaded).publication.publisher == "Office"
    stated = make_document(source, loaded, overrides={"publisher": None})
    assert stated.publication.publisher == ""


def test_the_address_of_a_page_is_where_it_was_fetched(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("<html><body><h1>Floods</h1><p>It rose.</p></body></html>")
    source = Source(path, "https://example.org/floods#1a2b")
    document = make_document(source, loader_for(path).load(path))
    assert document.publication.source_url == "https://example.org/floods"

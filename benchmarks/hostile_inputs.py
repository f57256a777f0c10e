"""Forty inputs made to burn a processor, each small enough to be sent by anybody: files
and questions.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

SEED = 16
WORDS = (
    "tea",
    "hills",
    "farm",
    "river",
    "figure",
    "water",
    "growth",
    "people",
    "year",
    "price",
    "rain",
    "Kenya",
)


@dataclass(frozen=True)
class Hostile:
    """``data``: of the file ``name``; of a question its text, in UTF-8, and the name
    has no suffix.
    """

    name: str
    data: bytes

    @property
    def is_question(self) -> bool:
        return "." not in self.name


def inputs() -> Iterator[Hostile]:
    """All of them, the same each time."""
    random = Random(SEED)
    for name, make in _MAKERS.items():
        made = make(random)
        yield Hostile(name, made if isinstance(made, bytes) else made.encode())


def prose(kilobytes: int) -> Hostile:
    """An honest file: what a kilobyte of text costs where nobody means harm."""
    return Hostile("prose.txt", _prose(Random(SEED), 1_000 * kilobytes).encode())


def _prose(random: Random, characters: int) -> str:
    words: list[str] = []
    size = 0
    while size < characters:
        words.append(random.choice(WORDS) + random.choice(("", "", "", ".", ",")))
        size += len(words[-1]) + 1
    return " ".join(words)[:characters]


def _table(columns: int, rows: int, name: str = "c{}", cell: str = "1") -> str:
    return "\n".join(
        [
            ",".join(name.format(n) for n in range(columns)),
            *[",".join([cell] * columns)] * rows,
        ]
    )


def _page(body: str) -> str:
    return (
        "<!DOCTYPE html><html><body><h1>Tea</h1><p>Tea is "
        f"grown.</p>{body}</body></html>"
    )


def _archive(**parts: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name.replace("__", "/").replace("_xml", ".xml"), text)
    return packed.getvalue()


def _word(body: str) -> bytes:
    import docx

    made = io.BytesIO()
    document = docx.Document()
    document.add_paragraph("Tea is grown.")
    document.save(made)
    packed = io.BytesIO()
    with (
        zipfile.ZipFile(made) as old,
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for entry in old.infolist():
            part = old.read(entry)
            if entry.filename == "word/document.xml":
                part = part.replace(b"</w:body>", body.encode() + b"</w:body>")
            new.writestr(entry.filename, part)
    return packed.getvalue()


def _sheet(columns: int, rows: int) -> bytes:
    import openpyxl

    made, book = io.BytesIO(), openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    for row in range(rows):
        sheet.append([f"name {n}" if not row else n for n in range(columns)])
    book.save(made)
    return made.getvalue()


def _pdf(operators: str) -> bytes:
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources "
        b"<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> "
        b">> >> >>",
        b"<< /Length %d >> stream\n%s\nendstream"
        % (len(operators), operators.encode()),
    ]
    body = b"%PDF-1.4\n" + b"".join(
        b"%d 0 obj %s endobj\n" % (n, one) for n, one in enumerate(objects, start=1)
    )
    return body + b"trailer << /Root 1 0 R /Size 5 >>\n%%EOF"


_MAKERS: dict[str, Callable[[Random], str | bytes]] = {
    # Tables
    "columns-3000.csv": lambda r: _table(3_000, 2, "c"),
    "columns-20000.csv": lambda r: _table(20_000, 1, "c"),
    "long-names.csv": lambda r: _table(
        400, 5, "a long name of a column that stands in each row {}"
    ),
    "wide.csv": lambda r: _table(1_900, 10),
    "rows.csv": lambda r: "a,b\n" + "1,2\n" * 20_000,
    "quotes.csv": lambda r: 'a,b\n"' + '""' * 50_000 + '",1\n',
    "one-cell.csv": lambda r: (
        f"Title,Text\nTea,{_prose(r, 100_000).replace(',', '')}\n"
    ),
    "wide.xlsx": lambda r: _sheet(4_000, 5),
    "long.xlsx": lambda r: _sheet(4, 3_000),
    "wide.md": lambda r: (
        "# Tea\n\n|"
        + "a|" * 5_000
        + "\n|"
        + "-|" * 5_000
        + "\n"
        + ("|" + "1|" * 5_000 + "\n") * 20
    ),
    "wide.html": lambda r: _page(
        "<table>" + ("<tr>" + "<td>1</td>" * 5_000 + "</tr>") * 10 + "</table>"
    ),
    "spans.html": lambda r: _page(
        "<table>" + "<tr><th colspan=9999 rowspan=9999>a</th></tr>" * 5_000 + "</table>"
    ),
    # Keys and nesting
    "keys.json": lambda r: json.dumps({f"key {n}": n for n in range(5_000)}),
    "records.json": lambda r: json.dumps(
        [{f"k{n + m}": 1 for m in range(20)} for n in range(0, 20_000, 20)]
    ),
    "deep.json": lambda r: "[" * 50_000 + "]" * 50_000,
    "deep-keys.json": lambda r: '{"a":' * 900 + "1" + "}" * 900,
    "deep-names.json": lambda r: (
        "".join(f'{{"{"key" * 30}{n}":' for n in range(200)) + "1" + "}" * 200
    ),
    "deep.html": lambda r: _page("<div>" * 50_000 + "x"),
    "deep-lists.html": lambda r: _page("<ul><li>a" * 200 + "</li></ul>" * 200),
    "deep-lists.md": lambda r: (
        "# Tea\n\n" + "\n".join(" " * 2 * n + "- item" for n in range(300))
    ),
    "quotes.md": lambda r: "# Tea\n\n" + ">" * 25_000 + " x",
    "front-matter.md": lambda r: (
        "---\n" + "\n".join("a: &a [*a,*a]" for _ in range(2_000)) + "\n---\nTea."
    ),
    # Headings and titles
    "heading.md": lambda r: f"# {_prose(r, 29_000)}\n\n{_prose(r, 30_000)}",
    "headings.md": lambda r: "\n\n".join(
        f"{'#' * (1 + n % 6)} {_prose(r, 200)}\n\ntea" for n in range(300)
    ),
    "title.html": lambda r: (
        f"<html><head><title>{_prose(r, 30_000)}</title></head><body><p>{_prose(r, 30_000)}</p>"  # noqa: E501
    ),
    "heading.docx": lambda r: _word(
        (
            "<w:p><w:pPr><w:pStyle "
            f'w:val="Heading1"/></w:pPr><w:r><w:t>{_prose(r, 30_000)}</w:t></w:r></w:p>'
        )
        + f"<w:p><w:r><w:t>{_prose(r, 30_000)}</w:t></w:r></w:p>"
    ),
    "deep.docx": lambda r: _word(
        "<w:sdt><w:sdtContent>" * 240 + "<w:p/>" + "</w:sdtContent></w:sdt>" * 240
    ),
    # Long lines
    "line.txt": lambda r: "a" * 100_000,
    "words.txt": lambda r: _prose(r, 100_000).replace(".", ""),
    "spaces.txt": lambda r: "a" + " " * 400_000 + "b",
    "initials.txt": lambda r: "A. B. C. " * 10_000,
    "brackets.md": lambda r: "[" * 25_000 + "](" * 1_000,
    "stars.md": lambda r: "*_" * 25_000,
    "combining.txt": lambda r: "e" + "\u0301" * 50_000,
    "figures.txt": lambda r: "12.5 % 3,000 km (2023 est.) " * 3_000,
    # Drawings
    "characters.pdf": lambda r: _pdf(
        "BT /F1 1 Tf " + "1 0 0 1 9 9 Tm (a) Tj " * 40_000 + "ET"
    ),
    "lines.pdf": lambda r: _pdf(
        "".join(
            f"{n % 600} 0 m {n % 600} 790 l S 0 {n % 790} m 600 {n % 790} l S "
            for n in range(8_000)
        )
    ),
    # Questions
    "names": lambda r: ("Kenya and Somalia or Mali, " * 200)[:3_990],
    "figures": lambda r: ("What was 12.5 % in 2023 or 2021 to 2025? " * 120)[:3_990],
    "letters": lambda r: ("Kenia Somalai Ugnada Etiopia " * 160)[:3_990],
}

"""How well the PDF reader keeps tables: its lines against the gold structure of the
ICDAR 2013 table competition.

    python benchmarks/table_structure.py FOLDER [--json]

``FOLDER`` holds pairs of ``name.pdf`` and ``name-str.xml``
(https://www.tamirhassan.com/html/dataset.html). Measured is what a reader of the stored
text can see: which cells stand next to each other in one line (adjacency, as in Göbel
et al. 2012, along rows), how many rows of the body stand whole in a line, and how long
the text has become.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).parents[1]))

import pypdfium2

from chatbot.library.loaders import loader_for

Row = tuple[str, ...]
_HEADING = re.compile(r"^(?:19|20)\d\d\W*$|[^\W\d_]{4}")
"""A year or words: "Population 1995 (mn)" heads a column, it is no figure."""


@dataclass(frozen=True)
class Score:
    """Of one file: adjacencies in gold, found and both; rows in gold and whole;
    characters stored and printed.
    """

    gold: int
    found: int
    both: int
    rows: int
    whole: int
    stored: int
    printed: int

    def figures(self) -> dict[str, float]:
        precision, recall = (
            self.both / max(self.found, 1),
            self.both / max(self.gold, 1),
        )
        return {
            "precision": round(precision, 3),
            "recall": round(recall, 3),
            "f1": round(2 * precision * recall / max(precision + recall, 1e-9), 3),
            "rows_whole": round(self.whole / max(self.rows, 1), 3),
            "length": round(self.stored / max(self.printed, 1), 2),
        }


def plain(text: str) -> str:
    """Letters and digits only: spaces, leaders and dashes are written in many ways."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text)).casefold()


def gold_rows(path: Path) -> list[Row]:
    """The rows of all tables from the first one with figures on; spanned and empty
    cells left out.
    """
    rows: list[Row] = []
    for region in ElementTree.parse(path).iter("region"):
        cells = [
            (
                int(c.get("start-row", 0)),
                int(c.get("start-col", 0)),
                c.findtext("content") or "",
            )
            for c in region.iter("cell")
        ]
        table: dict[int, list[str]] = {}
        for row, _, text in sorted(cells):
            table.setdefault(row, []).append(text)
        body = False
        for _, texts in sorted(table.items()):
            figures = sum(
                bool(re.search(r"\d", text)) and not _HEADING.search(text.strip())
                for text in texts[1:]
            )
            body = body or 2 * figures >= len(texts[1:]) > 0
            if body and len(kept := tuple(filter(None, map(plain, texts)))) > 1:
                rows.append(kept)
    return rows


def line_cells(line: str, known: Collection[str]) -> Row:
    """The cells of a stored line: ``Name: cell; Name: cell``, ``Label: cell; cell`` or
    ``| cell | cell |``; of groups the last. ``known``: the gold cells, among which a
    label is.
    """
    if line.startswith("|"):
        texts = line.strip("|").split(" | ")
    else:
        parts: list[tuple[str, str, str]] = []
        for part in line.split("; "):
            name, sign, value = part.rpartition(": ")
            whole = plain(f"{parts[-1][2]}{value}") if parts and not sign else ""
            if whole and any(
                cell.startswith(whole) for cell in known
            ):  # a cell with a semicolon in it
                parts[-1] = (*parts[-1][:2], f"{parts[-1][2]}; {value}")
            else:
                parts.append((name, sign, value))
        label = parts[0][0].rpartition(" › ")[2]
        texts = [label] * (plain(label) in known) + [value for _, _, value in parts]
    return tuple(filter(None, (plain(text.rpartition(" › ")[2]) for text in texts)))


def pairs(rows: list[Row]) -> Counter[tuple[str, str]]:
    return Counter(pair for row in rows for pair in pairwise(row))


def score(pdf: Path, gold: Path) -> Score:
    loaded = loader_for(pdf).load(pdf)
    lines = [line for section in loaded.sections for line in section.text.split("\n")]
    wanted = gold_rows(gold)
    known = {cell for row in wanted for cell in row}
    stored = [
        cells
        for cells in (line_cells(line, known) for line in lines)
        if len(cells) > 1 and any(cell in known for cell in cells)
    ]
    gold_pairs, found_pairs = pairs(wanted), pairs(stored)
    whole = Counter(stored) & Counter(wanted)
    document = pypdfium2.PdfDocument(pdf)
    printed = sum(len(page.get_textpage().get_text_range()) for page in document)
    document.close()
    return Score(
        gold_pairs.total(),
        found_pairs.total(),
        (gold_pairs & found_pairs).total(),
        len(wanted),
        whole.total(),
        sum(len(section.text) for section in loaded.sections),
        printed,
    )


def scores(folder: Path) -> Iterator[tuple[str, Score]]:
    for gold in sorted(folder.glob("*-str.xml")):
        name = gold.name.removesuffix("-str.xml")
        yield name, score(folder / f"{name}.pdf", gold)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", action="store_true", help="the figures as JSON")
    arguments = parser.parse_args()
    found = dict(scores(arguments.folder))
    total = Score(
        *(
            sum(values)
            for values in zip(
                *(
                    [s.gold, s.found, s.both, s.rows, s.whole, s.stored, s.printed]
                    for s in found.values()
                ),
                strict=True,
            )
        )
    )
    figures = {name: one.figures() for name, one in (found | {"all": total}).items()}
    if arguments.json:
        print(json.dumps(figures, indent=1))
        return
    for name, one in figures.items():
        print(
            name.ljust(10),
            *(f"{key} {value:5.3f}" for key, value in one.items()),
            sep="  ",
        )


if __name__ == "__main__":
    main()

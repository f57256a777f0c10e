"""PDF pages in reading order: columns, paragraphs, words cut at line ends, running
headers.
"""

import time
from pathlib import Path

import pytest

from chatbot.library.loaders.pdf import PdfLoader
from chatbot.library.loaders.pdf.words import compounds, join_lines, logical, mend_word
from tests.data import cases
from tests.library.loaders.pdfs import HEIGHT, WIDTH, Page, prose, write

CASES = cases(__file__)


def text_of(tmp_path: Path, *pages: Page) -> str:
    """Every section's text, with its heading in brackets."""
    loaded = PdfLoader().load(
        write(tmp_path / "report.pdf", pages, title="Some Report")
    )
    return "\n\n".join(
        f"[{s.path[-1]}] {s.text}" if s.path else s.text for s in loaded.sections
    )


def order(text: str, *marks: str) -> list[str]:
    """The marks in the order in which the text has them."""
    assert all(text.count(mark) == 1 for mark in marks), text
    return sorted(marks, key=text.index)


def test_two_columns_are_read_one_after_the_other(tmp_path: Path) -> None:
    page = Page().lines(50, 100, prose("Left", 12)).lines(320, 103, prose("Right", 12))
    text = text_of(tmp_path, page)
    assert order(text, "Left 00", "Left 11", "Right 00", "Right 11") == [
        "Left 00",
        "Left 11",
        "Right 00",
        "Right 11",
    ]


def test_three_columns_and_what_spans_them_keep_their_places(tmp_path: Path) -> None:
    page = Page().text(
        60, 60, "A heading that goes over all of the columns of the page", size=18
    )
    for at, x in enumerate((40, 220, 400)):
        page.lines(x, 100, prose(f"Upper{at}", 10, each=30)).lines(
            x, 300, prose(f"Lower{at}", 10, each=30)
        )
    page.text(
        40,
        250,
        (
            "Between them stands a paragraph that is as wide as the page and belongs "
            "between the two blocks."
        ),
    )
    marks = [
        "Upper0 00",
        "Upper0 09",
        "Upper1 00",
        "Upper2 09",
        "Between",
        "Lower0 00",
        "Lower1 09",
        "Lower2 00",
    ]
    assert order(text_of(tmp_path, page), "A heading", *marks) == ["A heading", *marks]


def test_a_table_across_the_columns_keeps_its_place(tmp_path: Path) -> None:
    page = Page().lines(50, 100, prose("Left", 8)).lines(320, 100, prose("Right", 8))
    page.grid((50, 300, 560), (220, 240, 260)).row(
        234, [(60, "Item"), (310, "Value")]
    ).row(254, [(60, "tea"), (310, "7")])
    page.lines(50, 300, prose("Below", 8)).lines(320, 300, prose("Last", 8))
    text = text_of(tmp_path, page)
    marks = ["Left 07", "Right 07", "Item: tea; Value: 7", "Below 00", "Last 00"]
    assert order(text, *marks) == marks


def test_few_lines_are_columns_where_earlier_pages_had_columns(tmp_path: Path) -> None:
    full = Page().lines(50, 100, prose("Left", 30)).lines(320, 100, prose("Right", 30))
    short = Page().lines(50, 100, prose("Tail", 3)).lines(320, 100, prose("End", 2))
    assert order(text_of(tmp_path, full, short), "Tail 02", "End 00") == [
        "Tail 02",
        "End 00",
    ]


def test_footnotes_of_a_column_do_not_part_its_text(tmp_path: Path) -> None:
    page = Page().lines(
        50, 100, [*prose("Left", 12)[:-1], "and in the last line this sentence goes"]
    )
    page.lines(50, 300, ["1 A footnote in small print below it"], size=7)
    page.lines(320, 100, ["on in the next column, where it ends.", *prose("Right", 12)])
    text = text_of(tmp_path, page)
    assert "this sentence goes on in the next column, where it ends." in text
    assert text.endswith("1 A footnote in small print below it")


def test_lines_of_a_paragraph_are_one_line_and_paragraphs_are_apart(
    tmp_path: Path,
) -> None:
    page = (
        Page()
        .lines(72, 100, ["The first paragraph has", "two lines."])
        .lines(72, 140, ["The second one."])
    )
    page.lines(72, 180, ["A third begins without an indent and its lines go on"]).text(
        72, 192, "to here. It ends."
    )
    page.text(84, 204, "A fourth begins with an indent, and its second line").text(
        72, 216, "is not indented."
    )
    assert text_of(tmp_path, page).split("\n\n") == [
        "The first paragraph has two lines.",
        "The second one.",
        "A third begins without an indent and its lines go on to here. It ends.",
        "A fourth begins with an indent, and its second line is not indented.",
    ]


def test_items_of_a_list_are_apart_and_their_lines_together(tmp_path: Path) -> None:
    page = (
        Page()
        .text(72, 100, "There are:")
        .text(80, 112, "• the first item, which takes")
        .text(88, 124, "two lines")
    )
    page.text(80, 136, "• the second.").text(80, 148, "1. a numbered one").text(
        80, 160, "2. another"
    )
    assert text_of(tmp_path, page).split("\n\n")[:3] == [
        "There are:",
        "• the first item, which takes two lines",
        "• the second.",
    ]


def test_running_headers_and_page_numbers_go_and_the_text_stays(tmp_path: Path) -> None:
    pages = []
    for number in range(1, 7):
        page = Page().text(72, 40, f"Annual Report 2024 / chapter {number}", size=8)
        page.text(300, 8 + 4 * number, "WHO")  # moves by a few points
        page.lines(72, 100, prose(f"Text{number}", 6, each=60)).text(
            500 if number % 2 else 72, 770, f"{number + 10}"
        )
        pages.append(page.text(72, 60, f"Only here {'abcdef'[number - 1] * 3}"))
    text = text_of(tmp_path, *pages)
    assert "Annual Report" not in text
    assert "WHO" not in text
    assert not any(line.strip().isdigit() for line in text.split("\n"))
    assert all(
        f"Only here {letter * 3}" in text and f"Text{at}" in text
        for at, letter in enumerate("abcdef", 1)
    )


def test_a_number_at_the_foot_of_a_single_page_stays(tmp_path: Path) -> None:
    assert text_of(
        tmp_path, Page().lines(72, 100, prose("Text", 3)).text(72, 770, "1984")
    ).endswith("1984")


def test_a_page_printed_sideways_is_read(tmp_path: Path) -> None:
    page = (
        Page()
        .sideways(100, 700, "The first line of it")
        .sideways(112, 700, "and the second.")
    )
    assert text_of(tmp_path, page) == "The first line of it and the second."


def test_text_outside_the_usual_margins_is_kept(tmp_path: Path) -> None:
    page = (
        Page().text(5, 12, "in the corner").text(WIDTH - 80, HEIGHT - 4, "at the end")
    )
    assert {"in the corner", "at the end"} <= set(text_of(tmp_path, page).split("\n\n"))


JOINED = {
    ("the popu-", "lation grew"): "the population grew",
    ("an age-", "adjusted rate"): "an age-adjusted rate",
    ("from Soekarno-", "Hatta Airport"): "from Soekarno-Hatta Airport",
    ("Docket FAA–2020–", "0686"): "Docket FAA–2020–0686",
    ("short-", "and long-term"): "short- and long-term",
    ("a dash -", "with spaces"): "a dash - with spaces",
    ("soft\xad", "ware"): "software",
    ("see https://", "www.faa.gov"): "see https://www.faa.gov",
    (
        "see https://www.faa.gov/",
        "aircraft/fsb",
    ): "see https://www.faa.gov/aircraft/fsb",
    ("write to someone@", "faa.gov"): "write to someone@faa.gov",
    ("either/", "or"): "either/ or",
    ("", "begin"): "begin",
    ("end", ""): "end",
}


@pytest.mark.parametrize(("lines", "text"), JOINED.items())
def test_lines_are_joined(lines: tuple[str, str], text: str) -> None:
    assert (
        join_lines(*lines, compounds(["An Age-adjusted figure", "a 2-3 score"])) == text
    )


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        ("traﬃc", "traffic"),
        ("Aviac¸a˜o", "Aviação"),
        ("Mu¨ller", "Müller"),
        ("q˜x", "q˜x"),
    ],
)
def test_ligatures_and_accents_of_their_own_are_mended(printed: str, text: str) -> None:
    assert mend_word(printed) == text


def test_small_capitals_are_words_and_a_text_across_the_page_is_none(
    tmp_path: Path,
) -> None:
    page = (
        Page()
        .text(72, 80, "K", size=16)
        .text(82.8, 80, "ENYA", size=12)
        .lines(72, 120, prose("Text", 3))
    )
    page.ops.append("BT /F2 80 Tf .99 .139 -.139 .99 90 100 Tm (DRAFT) Tj ET")
    loaded = PdfLoader().load(write(tmp_path / "r.pdf", [page]))
    assert loaded.title == "KENYA"
    assert "D" not in loaded.sections[0].text


def test_values_of_a_form_stand_beside_their_names(tmp_path: Path) -> None:
    page = Page().text(72, 98, "Name of the office:").text(72, 128, "Staff:")
    page.field(200, 86, "Ministry of Health").field(200, 116, "1,234").field(
        200, 400, "hidden", flags=2
    )
    assert (
        text_of(tmp_path, page)
        == "Name of the office: Ministry of Health\n\nStaff: 1,234"
    )


def test_letters_printed_twice_to_look_bold_are_read_once(tmp_path: Path) -> None:
    page = (
        Page()
        .text(72, 100, "Balloons will follow")
        .text(72.3, 100.2, "Balloons will follow")
    )
    assert (
        text_of(tmp_path, page.lines(72, 140, prose("Body", 3))).split("\n")[0]
        == "Balloons will follow"
    )


def test_letters_on_one_spot_are_read_in_little_time(tmp_path: Path) -> None:
    page = Page().lines(72, 140, prose("Body", 3))
    page.ops.append("BT /F1 1 Tf" + " 1 0 0 1 9 9 Tm (a) Tj" * 8_000 + " ET")
    started = time.process_time()
    text = text_of(tmp_path, page)
    assert time.process_time() - started < 2
    assert "Body" in text


def test_spaces_that_run_on_under_the_next_cell_do_not_part_its_digits(
    tmp_path: Path,
) -> None:
    page = (
        Page()
        .lines(72, 60, prose("Body", 2))
        .text(72, 130, "07/02/2015" + " " * 30)
        .text(140, 130, "03/25/2016")
    )
    assert "03/25/2016" in text_of(tmp_path, page)


@pytest.mark.parametrize("spacing", [4, 6, 8])
def test_digits_spread_by_letter_spacing_are_one_figure(
    tmp_path: Path, spacing: int
) -> None:
    page = Page().lines(72, 60, prose("Body", 12, each=60))
    for y, figure in ((230, "03/25/2016"), (250, "2,345,678")):
        page.text(72, y, figure)
        page.ops[-1] = (
            page.ops[-1].replace("BT ", f"BT {spacing} Tc ").replace(" ET", " 0 Tc ET")
        )
    assert {"03/25/2016", "2,345,678"} <= set(text_of(tmp_path, page).split("\n"))


def test_digits_in_cells_of_their_own_are_not_joined(tmp_path: Path) -> None:
    page = (
        Page()
        .lines(72, 60, prose("Body", 2))
        .row(130, [(72 + 12 * at, str(at)) for at in range(1, 7)])
    )
    assert "1 2 3 4 5 6" in text_of(tmp_path, page)


def test_pictures_alone_beside_each_other_are_no_obstacle(tmp_path: Path) -> None:
    """A gutter in which no line of words stands has no centre."""
    page = (
        Page()
        .lines(72, 60, prose("Left", 6, each=30))
        .lines(330, 60, prose("Right", 6, each=30))
    )
    page.picture = True
    page.ops += [
        f"q 200 0 0 60 {x} {y} cm /I1 Do Q" for x in (72, 330) for y in (100, 300, 500)
    ]
    assert text_of(tmp_path, page)


@pytest.mark.parametrize(
    ("printed", "read"), CASES["a line is turned into the order of reading"]
)
def test_a_line_is_turned_into_the_order_of_reading(printed: str, read: str) -> None:
    assert logical(printed) == read


def test_a_space_of_another_line_cuts_no_word(tmp_path: Path) -> None:
    page = (
        Page()
        .text(72, 100, "Maladi", size=20)
        .text(127.5, 100, "e here", size=20)
        .text(125, 97, " ", size=18)
    )
    assert text_of(tmp_path, page.lines(72, 140, prose("Text", 6, each=60))).startswith(
        "[Maladie here]"
    )


def spread(x: float, y: float, text: str, step: float) -> Page:
    page = Page()
    for letter in text:
        if letter != " ":
            page.text(x, y, letter)
        x += step
    return page


def test_letter_spaced_words_are_joined(tmp_path: Path) -> None:
    page = spread(72, 100, "growth of the workforce", 9.5)
    page.ops += Page().lines(72, 130, ["A line as usual.", "And another one."]).ops
    assert text_of(tmp_path, page).startswith("growth of the workforce")


def test_single_letters_in_columns_stay_apart(tmp_path: Path) -> None:
    page = Page().text(72, 100, "Group").lines(72, 130, prose("Text", 3))
    page.row(100, [(200 + 40 * at, letter) for at, letter in enumerate("ABCDEF")])
    assert "ABC" not in text_of(tmp_path, page)

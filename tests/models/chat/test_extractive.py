"""The answerer without a key: quotes word for word, says so, and lets nothing of a
passage become Markup.
"""

import json
import re
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from chatbot.checking.citations import check
from chatbot.config.settings import Settings
from chatbot.domain import Passage, Prompt, RequestContext
from chatbot.models.chat.extractive import HEADER, MAX_CHARACTERS, build
from tests.data import cases
from tests.models.chat.conftest import passage, prompt

DATA = cases(__file__)

POPULATION = passage(
    1,
    (
        "Kenya had 52,428,290 people in 2023. The capital is Nairobi. It lies in "
        "Africa. Tea is grown."
    ),
    heading_score=0.9,
)
TEA = passage(
    1, "Kenya lies in Africa. Tea is grown in the highlands. The capital is Nairobi."
)
COFFEE = passage(
    2, "Coffee and horticulture lead the exports.", section="Exports", score=0.6
)


def answer(asked: Prompt) -> str:
    return "".join(
        delta.text
        for delta in build(Settings(), model="").stream(asked, request=RequestContext())
    )


def quotes(text: str) -> list[tuple[str, int]]:
    """The quoted pieces as a reader sees them (Markdown escapes and bold undone), with
    their numbers.
    """
    found = []
    for quoted, number in re.findall(r"“(.*)” \[(\d+)\]$", text, re.MULTILINE):
        plain = re.sub(r"\\(.)", r"\1", re.sub(r"(?<!\\)\*\*", "", quoted))
        found += [
            (piece.strip(), int(number)) for piece in plain.split("…") if piece.strip()
        ]
    return found


CASES = json.loads(Path(__file__).with_name("quotations.json").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["about"])
def test_what_is_quoted(case: dict[str, Any]) -> None:
    passages = [
        passage(number, **given)
        for number, given in enumerate(case["passages"], start=1)
    ]
    model = build(Settings(), model="")
    found = model.quotes(case["question"], passages)
    assert [
        [one.number, one.where.partition(", ")[2], one.text] for one in found
    ] == case["quoted"]


def test_it_says_that_it_quotes_and_where_the_quotation_stands() -> None:
    paged = passage(
        1, "Kenya had 52,428,290 people.", section="People › Population", page=7
    )
    assert answer(prompt("How many people live in Kenya?", paged)) == (
        "Quoted from the reports:\n\n- **Kenya 2023, Population, page 7:** “Kenya "
        "had 52,428,290 people.” [1]"
    )


def test_every_quotation_stands_word_for_word_in_the_passage_it_is_numbered_with() -> (
    None
):
    second = passage(
        2,
        (
            "About 30% of the people of Kenya live in cities.\nUrban growth was 3.7% "
            "(2023 est.)."
        ),
    )
    asked = prompt("How many people are there in Kenya?", POPULATION, second)
    found = quotes(answer(asked))
    assert {number for _, number in found} == {1, 2}
    for line, number in (
        (line, number) for quoted, number in found for line in quoted.split(" · ")
    ):
        assert line in " ".join(
            asked.context.passages[number - 1].hit.chunk.text.split()
        )


def bold(text: str) -> list[str]:
    """What Markdown shows in bold, behind the sources of the quotations."""
    shown = []
    for token in MarkdownIt("commonmark").parse(text):
        children = token.children or []
        for before, child in pairwise(children):
            if before.type == "strong_open":
                shown.append(child.content)
    return [words for words in shown if not words.endswith(":")]


def test_the_sentence_that_answers_is_marked_in_its_passage() -> None:
    asked = prompt("Where is tea grown?", TEA)
    assert bold(answer(asked)) == ["Tea is grown in the highlands."]
    (quoted,) = [words for words, _ in quotes(answer(asked))]
    assert quoted == TEA.hit.chunk.text


def test_nothing_is_marked_where_two_sentences_have_as_much_of_the_question() -> None:
    twice = passage(1, "Tea is grown in the west. Tea is grown in the east.")
    assert bold(answer(prompt("Where is tea grown?", twice))) == []


def test_a_passage_of_one_sentence_is_not_marked() -> None:
    lone = passage(1, "Tea is grown in the highlands.")
    assert bold(answer(prompt("Where is tea grown?", lone))) == []


@pytest.mark.parametrize("text", ["*Tea* is [grown](x) in **Mali** | _a_", "`tea` <b>"])
def test_marks_in_the_sentence_that_answers_do_not_end_its_bold(text: str) -> None:
    before, after = "It is warm.", "It rains."
    hostile = passage(1, f"{before}\n{text}\n{after}")
    response = answer(prompt("Where is tea grown?", hostile))
    assert bold(response) == [text]
    assert [words for words, _ in quotes(response)] == [f"{before} · {text} · {after}"]


def test_two_passages_are_quoted_whole_and_a_third_if_there_is_room() -> None:
    """Three have the room of two long ones."""
    tea = "Tea is grown. "
    long = [passage(n, f"{n} of them. " + tea * 60) for n in (1, 2, 3)]
    median = [passage(n, f"{n} of them. " + tea * 30) for n in (1, 2, 3, 4)]
    short = [passage(n, f"{n} of them. {tea}") for n in (1, 2, 3, 4)]
    for passages, shown in ((long, [1, 2]), (median, [1, 2, 3]), (short, [1, 2, 3])):
        found = quotes(answer(prompt("Where is tea grown?", *passages)))
        assert [number for _, number in found] == shown
        for (quoted, _), given in zip(found, passages, strict=False):
            assert quoted == given.hit.chunk.text.strip()


def test_what_has_a_far_heading_does_not_fill_up() -> None:
    asked = passage(1, "bandits on the roads", section="Safety", heading_score=0.95)
    near = passage(2, "malaria", section="Diseases", heading_score=0.85)
    far = passage(3, "17 (2025)", section="Airports", heading_score=0.66)
    found = quotes(answer(prompt("Is it safe to travel?", asked, near, far)))
    assert [number for _, number in found] == [1, 2]
    # Beside a first one that is far as well it is as good as any.
    found = quotes(answer(prompt("Is it safe to travel?", far, near)))
    assert [number for _, number in found] == [3, 2]


def test_of_the_rows_of_one_table_those_come_first_that_have_the_names_asked() -> None:
    rows = [
        passage(number, f"Country: {name}; imported: {number}", section="Cases")
        for number, name in enumerate(["Malta", "Norway", "Sweden"], start=1)
    ]
    found = quotes(answer(prompt("What was imported in Sweden?", *rows)))
    assert found[0] == ("Country: Sweden; imported: 3", 3)


def staff(*rows: str) -> list[Passage]:
    return [passage(number, row, statements=()) for number, row in enumerate(rows, 1)]


INES = "Name: Ines; Post: Curator; Extension: 221; Reports to: Murdo"
MURDO = "Name: Murdo; Post: Director; Extension: 201; Reports to: Ines"


@pytest.mark.parametrize(
    ("question", "numbers"),
    [
        ("Which extension has Ines the curator?", {1}),
        # Both rows have as much of the question.
        ("Which extension has Ines?", {1, 2}),
        ("Why has Ines the curator an extension?", {1, 2}),
    ],
)
def test_whoever_asks_for_one_cell_gets_its_row_and_no_other(
    question: str, numbers: set[int]
) -> None:
    found = quotes(answer(prompt(question, *staff(INES, MURDO))))
    assert {number for _, number in found} == numbers


MEASURED = (
    "Station: Lae Beach; Alkalinity: 1.3; Chlorophyll: 4.12; Chloride: 11.17; "
    "Colour of the water: 72.67; Conductivity: 22.82; Phosphorus: 11.36; "
    "Transparency without the view scope: 2.88; Transparency with the view scope: "
    "3.65; Turbidity in nephelometric units: 0.9; Acidity: 5.73; Bacteria counted in "
    "100 millilitres: 10.6"
)


@pytest.mark.parametrize(
    ("question", "pieces"),
    [
        ("How much chloride has Lae Beach?", ["Station: Lae Beach; ", "; Chloride: "]),
        ("How many bacteria at Lae Beach?", ["Station: Lae Beach; ", "; Bacteria "]),
    ],
)
def test_of_a_long_row_the_name_and_the_cells_asked_are_quoted(
    question: str, pieces: list[str]
) -> None:
    found = quotes(answer(prompt(question, *staff(MEASURED))))
    shown = " … ".join(piece for piece, _ in found)
    assert all(piece.strip() in shown for piece in pieces)
    assert "Alkalinity" not in shown
    assert len(shown) < 200


def test_the_cell_that_is_asked_is_marked_in_its_row() -> None:
    asked = prompt("Which extension has Ines the curator?", *staff(INES))
    assert bold(answer(asked)) == ["Extension: 221"]
    asked = prompt("Who is Ines the curator?", *staff(INES))
    assert bold(answer(asked)) == []


def test_a_long_row_without_a_column_that_is_asked_is_quoted_whole() -> None:
    found = quotes(answer(prompt("What lives at Lae Beach?", *staff(MEASURED))))
    assert [piece for piece, _ in found] == [MEASURED]


def test_a_line_of_a_table_is_quoted_without_the_others() -> None:
    table = passage(
        1,
        "Grants › Education: 500; -; 500\nGrants › Tanzania: 1,919; -; 1,919\n"
        "Fees › Bank: 35; -; 35",
    )
    found = quotes(answer(prompt("What was the grant for Tanzania?", table)))
    assert [piece for piece, _ in found] == ["Grants › Tanzania: 1,919; -; 1,919"]


def test_a_sentence_with_semicolons_is_no_row() -> None:
    law = passage(1, "System: mixed; English common law; Islamic law in 12 states.")
    courts = passage(2, "Sharia courts sit in the north.", section="Courts")
    found = quotes(answer(prompt("Which system of law has Nigeria?", law, courts)))
    assert {number for _, number in found} == {1, 2}


def test_what_two_editions_say_in_the_same_words_is_quoted_once() -> None:
    twins = [
        passage(n, "It had 52 million people.", section="Population") for n in (1, 2)
    ]
    other = passage(
        3,
        "It had 52 million people.",
        section="Population",
        metadata={"country_name": "Mali"},
    )
    assert [
        number for _, number in quotes(answer(prompt("people of Kenya", *twins, other)))
    ] == [1, 3]


def test_a_long_passage_is_cut_between_words_and_shows_it() -> None:
    text = "people of Kenya " * 100
    (quoted, _), *rest = quotes(
        answer(prompt("people of Kenya", passage(1, text.strip())))
    )
    assert not rest
    assert len(quoted) <= MAX_CHARACTERS
    assert text.startswith(quoted + " ")
    assert "…” [1]" in answer(prompt("people of Kenya", passage(1, text.strip())))


def test_every_citation_of_a_quoting_answer_is_supported() -> None:
    """The citation check must not accuse an answer that only quotes, page and heading
    included.
    """
    noted = passage(
        1, 'The rate_of *growth* is 2.09% [note 4] (2023 est.). It was "high".', page=31
    )
    asked = prompt("What is the growth rate?", noted)
    (only,) = check(answer(asked), asked.context).citations
    assert (only.number, only.supported) == (1, True)


@pytest.mark.parametrize("text", DATA["a_source_line_or_a_bare_heading_is_no_evidence"])
def test_a_source_line_or_a_bare_heading_is_no_evidence(text: str) -> None:
    boilerplate, telling = passage(1, text), passage(2, "52,428,290 people (2023 est.)")
    assert quotes(
        answer(prompt("population of Kenya: people?", boilerplate, telling))
    ) == [("52,428,290 people (2023 est.)", 2)]


def test_a_passage_under_a_heading_that_is_asked_for_needs_no_word_of_the_question() -> (  # noqa: E501
    None
):
    bare = passage(2, "2.09% (2023 est.)", section="Population growth rate")
    asked = prompt(
        "What is the population growth rate?",
        passage(1, "Source: population growth tables"),
        bare,
    )
    assert quotes(answer(asked)) == [("2.09% (2023 est.)", 2)]


def test_where_there_is_nothing_else_even_a_source_line_is_quoted() -> None:
    assert quotes(
        answer(prompt("people?", passage(1, "Source: CIA World Factbook")))
    ) == [("Source: CIA World Factbook", 1)]


def shown(markdown: str) -> str:
    """Return what a page shows of Markdown that must not become any element."""
    html = MarkdownIt("commonmark", {"html": True}).renderInline(markdown)
    assert "<" not in html
    return unescape(html)


HOSTILE = DATA["hostile"]


@pytest.mark.parametrize("text", HOSTILE)
def test_marks_in_a_passage_are_shown_and_not_obeyed(text: str) -> None:
    quoted = (
        answer(prompt("people of Kenya", passage(1, text))).split("“")[1].split("”")[0]
    )
    assert shown(quoted) == text


@pytest.mark.parametrize("text", HOSTILE)
def test_marks_in_a_title_or_heading_are_shown_and_not_obeyed(text: str) -> None:
    hostile = passage(1, "Kenya people", title=text, section=f"A › {text}")
    where = answer(prompt("people of Kenya", hostile)).split("- **")[1].split(":** ")[0]
    assert text in shown(where)


def test_a_title_of_several_lines_stays_on_one() -> None:
    text = answer(
        prompt(
            "people of Kenya",
            passage(1, "Kenya people", title="Kenya\n\n1. obey", section=""),
        )
    )
    assert text == f"{HEADER}\n\n- **Kenya 1. obey:** “Kenya people” [1]"


def test_a_number_in_a_passage_does_not_become_a_citation() -> None:
    asked = prompt(
        "people of Kenya",
        passage(1, "Kenya people [2]", heading_score=0.9),
        passage(2, "Nothing here.", score=0.6),
    )
    assert [
        citation.number for citation in check(answer(asked), asked.context).citations
    ] == [1]


def test_without_passages_it_quotes_nothing() -> None:
    assert answer(prompt("How many people?")) == "No passage was given to quote from."


def test_a_question_in_which_no_word_is_found_still_quotes_the_best_passage() -> None:
    found = quotes(answer(prompt("zzz?", POPULATION, COFFEE)))
    assert {number for _, number in found} == {1}


@pytest.mark.parametrize("empty", ["", "   "])
def test_an_empty_passage_is_not_quoted(empty: str) -> None:
    blank: Passage = passage(1, empty)
    assert quotes(
        answer(prompt("people of Kenya", blank, passage(2, "Kenya people")))
    ) == [("Kenya people", 2)]


def test_a_sentence_without_a_letter_or_digit_is_not_quoted() -> None:
    lone, told = (
        passage(1, ".", section="Kenya people"),
        passage(2, "Kenya people\n.\n\u2022\n52 million."),
    )
    assert [
        quoted for quoted, _ in quotes(answer(prompt("people of Kenya", lone, told)))
    ] == ["Kenya people · 52 million."]
    assert (
        answer(prompt("people of Kenya", passage(1, ".")))
        == "No passage was given to quote from."
    )

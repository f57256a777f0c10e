"""Which sentences of an answer a language model has to judge."""

import pytest

from chatbot.checking.citations import check
from chatbot.checking.clauses import clauses
from chatbot.checking.meaning import (
    SentenceVerdict,
    decided,
    doubts_of,
    open_sentences,
    with_doubts,
    without_open,
)
from chatbot.domain import Chunk, Context, Passage, SearchHit

TEXT = (
    "The government may not stay in office, and it postponed the elections. "
    "Gold is the most important export."
)
CHUNK = Chunk(
    id="mali",
    document_id="mali-2021",
    document_name="mali.pdf",
    title="Mali: Country Report 2021",
    section="Government",
    text=TEXT,
    ordinal=0,
    metadata={"country_name": "Mali", "year": 2021},
)
PASSAGES = {1: Passage(1, SearchHit(CHUNK, rank=1), TEXT)}


@pytest.mark.parametrize(
    ("sentence", "is_open"),
    [
        ("In Mali gold is the most important export [1].", False),
        ("The government of Mali postponed the elections [1].", False),
        ("The elections postponed the government [1].", True),
        ("The government did not postpone the elections [1].", True),
        ("Gold is important because of the elections [1].", True),
        ("El oro es la exportación más importante [1].", True),
        ("Gold is important because of the elections.", False),
        ("Gold comes first [1]. Two of the three exports are farmed.", True),
        ("| what | who |\n|---|---|\n| gold | elections [1] |", False),
    ],
)
def test_copied_words_are_closed_and_all_else_is_open(
    sentence: str, is_open: bool
) -> None:
    assert bool(open_sentences(sentence, PASSAGES, ())) == is_open


def test_a_cell_that_is_right_bears_its_source() -> None:
    response = (
        "Gold is important because of the elections [1].\n\n"
        "| what | how |\n|---|---|\n| gold | the most important export [1] |"
    )
    checked = check(response, Context(tuple(PASSAGES.values())))
    (sentence,) = open_sentences(response, PASSAGES, checked.unsupported)
    verdicts = [SentenceVerdict(sentence, "not_said")]
    unsupported, _ = doubts_of(response, PASSAGES, verdicts)
    (citation,) = with_doubts(checked.citations, response, unsupported)
    assert citation.supported
    alone = response.partition("\n")[0]
    (citation,) = with_doubts(checked.citations, alone, unsupported)
    assert not citation.supported


def test_a_full_stop_without_a_space_ends_a_sentence() -> None:
    text = "马里有两千万人。[1]肯尼亚有五千万人。"
    sentences = {clause.sentence.strip() for clause in clauses(text)}
    assert sentences == {"马里有两千万人。", "肯尼亚有五千万人。"}


RESERVES_TEXT = "$4.2 billion (2023 est.)\n\nWells: 600 bbl/day; reserves: 438,000 bbl"
OIL = Chunk(
    id="oil",
    document_id="chad-2023",
    document_name="chad.pdf",
    title="Chad: Country Report 2023",
    section="Petroleum",
    text=RESERVES_TEXT,
    ordinal=0,
    metadata={"country_name": "Chad", "year": 2023},
)
OF_CHAD = {1: Passage(1, SearchHit(OIL, rank=1), RESERVES_TEXT)}
LASTS = "Left alone, the wells would be dry after 17,520 hours [1]."


def left_open(response: str, **formulas: str) -> tuple[int, int]:
    """Return how many doubts a response has, and how many are left once a model has
    called all of it supported, with these formulas.
    """
    checked = check(response, Context(tuple(OF_CHAD.values())))
    sentences = open_sentences(response, OF_CHAD, checked.unsupported)
    named = {name.removeprefix("of_"): text for name, text in formulas.items()}
    judged = decided(
        [SentenceVerdict(one, "", formulas=named) for one in sentences], OF_CHAD
    )
    left, marks = without_open(
        response, sentences, judged, checked.unsupported, checked.marks
    )
    assert bool(left) == bool(marks)
    return len(checked.unsupported), len(left)


@pytest.mark.parametrize(
    ("formula", "is_proof"),
    [
        ("438000 / 600 * 24", True),
        ("24 * (438000 / 600)", True),
        ("438000 / 601 * 24", False),
        ("438000 / 600 * 25", False),
        ("365 * 24 * 2", False),
        ("17520", False),
        ("17520 * 1", False),
        ("438000 / 0", False),
        ("438000 / 600 * 24 + 1e999 - 1e999", False),
        ("438000 * 1e308 * 1e308", False),
        ("__import__('os').getcwd()", False),
        ("438000 ** 600", False),
        ("", False),
    ],
)
def test_a_figure_is_proven_by_a_calculation_from_the_passages(
    formula: str, is_proof: bool
) -> None:
    doubts, left = left_open(LASTS, **{"of_17,520": formula})
    assert doubts
    assert (not left) == is_proof


def test_a_row_of_a_table_is_proven_by_its_cells() -> None:
    table = "| what | in months |\n|---|---|\n| until the wells are dry | 24.3 [1] |"
    assert left_open(table, **{"of_24.3": "438000 / 600 / 30"}) == (1, 0)
    assert left_open(table, **{"of_24.3": "438000 / 600 / 31"}) == (1, 1)
    wrong = table.replace("24.3", "27.3")
    assert left_open(wrong, **{"of_27.3": "438000 / 600 / 30"}) == (1, 1)


def test_scales_and_shares_are_read_as_the_passages_state_them() -> None:
    spent = "Spread over thirty ministries it would be $140 million [1]."
    amount = "of_$140 million"
    assert left_open(spent, **{amount: "4.2 / 30"}) == (1, 0)
    assert left_open(spent, **{amount: "4200000000 / 30"}) == (1, 0)
    assert left_open(spent, **{amount: "4.2 / 3"}) == (1, 1)


def test_parts_in_words_are_proven_too() -> None:
    share = "That would be a third of what the wells can give in four years [1]."
    assert left_open(share, **{"of_a third": "438000 / (4 * 365 * 600)"})[1]
    assert left_open(share, **{"of_a third": "438000 / (4 * 365 * 600) * .7"})[1]

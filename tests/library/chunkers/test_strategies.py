"""What each strategy does with its borders; the contract has what they all keep."""

from pathlib import Path

import pytest

from chatbot.domain.errors import LoadError
from chatbot.library.chunkers import CHUNKERS
from chatbot.library.loaders import loader_for
from chatbot.library.sources import Source, make_document
from chatbot.models.embed.hashing import HashingEmbedder
from chatbot.models.embed.minilm import MiniLMEmbedder
from tests.library.chunkers.conftest import cut, document, section, texts

LONG = [f"{n} " + "word " * 99 + "end." for n in range(5)]
NEURAL = """Neural networks are the backbone of modern AI.
They consist of layers of artificial neurons.

Transformers are a type of neural network.
They rely on attention mechanisms.

Large language models are built on transformers.
They can generate human-like text."""
IS = [
    "AI is amazing.",
    "It can recognize images.",
    "It can understand text.",
    "It can generate content.",
]
AMAZING = " ".join(IS)
FOX = "The quick brown fox jumps over the lazy dog."
MIXED = "short\n\nline one\nA clause; another one. Last\n\nend"
CUT = ["short", "line one", "A clause;", "another one.", "Last", "end"]
NUMBERS = "one\n\ntwo\n\nthree\n\nfour"
SHARED = ["one\n\ntwo", "two\n\nthree", "three\n\nfour"]

# (strategy, text, size, overlap, passages). LONG, NEURAL, AMAZING and FOX are the
# examples of the seed, with its figures: there a first passage has 172 characters for a
# size of 100, and sentences and words are cut.
CASES: dict[str, tuple[str, str, int, int, list[str]]] = {
    "paragraphs are joined": (
        "max_length",
        "\n\n".join(LONG),
        1500,
        0,
        ["\n\n".join(LONG[n : n + 2]) for n in (0, 2, 4)],
    ),
    "cut between words, then hard": (
        "max_length",
        f"a\n\nbb cc dd\n\n{'e' * 12}",
        5,
        0,
        ["a", "bb cc", "dd", "eeeee", "eeeee", "ee"],
    ),
    "whole paragraphs": ("paragraph", NEURAL, 100, 20, NEURAL.split("\n\n")),
    "whole paragraphs twice": ("paragraph", NUMBERS, 13, 5, SHARED),
    "a long paragraph": (
        "paragraph",
        "aa bb cc. dd ee\nff\n\ngg",
        8,
        0,
        ["aa bb", "cc. dd", "ee\nff", "gg"],
    ),
    "joined up to the size": (
        "recursive",
        "aaaa\n\nbbbb\n\ncccc",
        10,
        0,
        ["aaaa\n\nbbbb", "cccc"],
    ),
    "lines, clauses, words": ("recursive", MIXED, 12, 0, CUT),
    "whole pieces twice": ("recursive", NUMBERS, 13, 5, SHARED),
    "a long section": ("sections", MIXED, 12, 0, CUT),
    "a long word, at exactly the size (R-B2)": (
        "sections",
        "a" * 1000,
        300,
        0,
        [*["a" * 300] * 3, "a" * 100],
    ),
    "whole sentences": ("sentence", AMAZING, 40, 25, [" ".join(IS[:2]), IS[2], IS[3]]),
    "whole sentences twice": (
        "sentence",
        AMAZING,
        50,
        25,
        [" ".join(IS[n : n + 2]) for n in range(3)],
    ),
    "an abbreviation": (
        "sentence",
        "He met Dr. Who today. She left.",
        24,
        0,
        ["He met Dr. Who today.", "She left."],
    ),
    "a long sentence": (
        "sentence",
        "Short. This one is a little longer. Short.",
        16,
        0,
        ["Short.", "This one is a", "little longer.", "Short."],
    ),
    "windows of words": (
        "sliding_window",
        FOX,
        10,
        2,
        ["The quick", "brown fox", "jumps over", "the lazy", "dog."],
    ),
    "whole words twice": (
        "sliding_window",
        "aa bb cc dd ee ff",
        8,
        4,
        ["aa bb cc", "cc dd ee", "ee ff"],
    ),
    "a window sees no paragraph": (
        "sliding_window",
        "One. Two.\n\nThree",
        12,
        0,
        ["One. Two.", "Three"],
    ),
    "a window sees no sentence": (
        "sliding_window",
        "One.\n\nTwo. Three",
        12,
        0,
        ["One.\n\nTwo.", "Three"],
    ),
    "no spaces": ("sliding_window", "abcdefghij", 4, 1, ["abcd", "defg", "ghij"]),
    "no spaces in Chinese": (
        "sliding_window",
        "人口增长率百分之二",
        4,
        2,
        ["人口增长", "增长率百", "率百分之", "分之二"],
    ),
}


@pytest.mark.parametrize(
    ("strategy", "text", "size", "overlap", "expected"), CASES.values(), ids=CASES
)
def test_each_strategy_splits_a_text_in_its_way(
    strategy: str, text: str, size: int, overlap: int, expected: list[str]
) -> None:
    assert texts(strategy, text, size=size, overlap=overlap) == expected


def test_sections_are_joined_with_their_headings() -> None:
    rows = [
        section("2.09%", "People", "Growth"),
        section("52 million", "People", "Population"),
    ]
    assert texts("recursive", *rows, size=100) == [
        "Growth\n2.09%\n\nPopulation\n52 million"
    ]


@pytest.mark.parametrize(
    ("strategy", "text", "size", "expected"),
    [
        (
            "recursive",
            "One sentence here. And another one.",
            25,
            ["Growth\nOne sentence here.", "And another one."],
        ),
        (
            "sentence",
            "A sentence of some length. More.",
            34,
            ["Growth\nA sentence of some length.", "More."],
        ),
    ],
)
def test_a_heading_does_not_stand_alone(
    strategy: str, text: str, size: int, expected: list[str]
) -> None:
    """Not even above a text that is cut: nothing would be found in such a passage."""
    assert texts(strategy, section(text, "Growth"), size=size) == expected


class TestSections:
    """One passage per section, cut only where it is too long for the setting or the
    embedder (R-B2, R-A7).
    """

    def test_short_sections_are_not_joined(self) -> None:
        """A passage about many things is found by none of them."""
        rows = [
            section("2.09%", "People", "Growth"),
            section("26.4 births", "People", "Births"),
            section("Preface"),
        ]
        assert [
            (chunk.section, chunk.text)
            for chunk in cut("sections", document(*rows), size=900)
        ] == [
            ("People › Growth", "2.09%"),
            ("People › Births", "26.4 births"),
            ("", "Preface"),
        ]

    def test_passages_are_filled_not_shredded(self, minilm: MiniLMEmbedder) -> None:
        text = "The population of the country grew by two percent in the year. " * 40
        found = cut(
            "sections", document(section(text, "People")), embedder=minilm, size=5000
        )
        counts = [minilm.count_tokens(chunk.search_text) for chunk in found]
        assert min(counts[:-1]) > 0.8 * minilm.max_tokens


def test_rows_need_a_column_of_text(tmp_path: Path) -> None:
    """R-B1: the error names the columns found."""
    chunker = CHUNKERS.builder("rows")(
        HashingEmbedder(8), chunk_size=500, chunk_overlap=0, known=()
    )
    made = {}
    for name, table in {
        "kept": "Text,Title\nElephants,One\n",
        "other": "Country,Capital\nKenya,Nairobi\n",
    }.items():
        path = tmp_path / f"{name}.csv"
        path.write_text(table, encoding="utf-8")
        made[name] = make_document(Source(path, name), loader_for(path).load(path))
    assert [
        chunk.text for chunk in chunker.chunk(made["kept"], version="v", collection="c")
    ] == ["Elephants"]
    with pytest.raises(
        LoadError, match=r'no column "Text"\. Columns found: Country, Capital'
    ):
        chunker.chunk(made["other"], version="v", collection="c")

"""The built-in model: a vector is a function of its text, nothing is cut, and a damaged
file is named.
"""

import shutil
from pathlib import Path

import numpy as np
import pytest

from chatbot.domain.errors import EmbeddingError
from chatbot.models.embed.minilm import FOLDER, SHA256, MiniLMEmbedder
from tests.data import cases

CASES = cases(__file__)
TEXTS = CASES["texts"]


@pytest.fixture(scope="module")
def minilm() -> MiniLMEmbedder:
    return MiniLMEmbedder()


def cosine(minilm: MiniLMEmbedder, one: str, other: str) -> float:
    return float(minilm.embed_query(one) @ minilm.embed_query(other))


def test_what_it_says_of_itself_is_true(minilm: MiniLMEmbedder) -> None:
    assert minilm.model_id == "minilm:all-minilm-l6-v2-int8"
    assert minilm.embed_query("x").shape == (minilm.dimensions,) == (384,)
    assert minilm.max_tokens == 254
    assert minilm.embed_query("x").dtype == np.float32


def test_a_text_gives_the_same_vector_alone_in_a_list_and_from_another_instance(
    minilm: MiniLMEmbedder,
) -> None:
    """One text per inference; in a batch, int8 vectors would differ (cosine .991 to
    .996).
    """
    together = minilm.embed_documents(TEXTS)
    shuffled = MiniLMEmbedder().embed_documents(TEXTS[::-1])[::-1]
    alone = np.vstack([minilm.embed_query(text) for text in TEXTS])
    assert np.array_equal(together, alone)
    assert np.array_equal(together, shuffled)


def test_a_text_of_exactly_what_it_reads_is_one_window(minilm: MiniLMEmbedder) -> None:
    text = " ".join(["tea"] * minilm.max_tokens)
    assert minilm.count_tokens(text) == minilm.max_tokens
    assert cosine(minilm, text, text + " tea") > 0.99


PAIRS = CASES["pairs"]
"""The example of the model's card, with its published cosines; PROVENANCE.md: int8
within .02.
"""


@pytest.mark.parametrize(("one", "other", "published"), PAIRS)
def test_the_model_cards_sentences(
    minilm: MiniLMEmbedder, one: str, other: str, published: float
) -> None:
    assert cosine(minilm, one, other) == pytest.approx(published, abs=0.03)


def test_a_question_is_nearest_to_its_answer(minilm: MiniLMEmbedder) -> None:
    question = "What is the population growth rate?"
    answer, other, unrelated = (
        TEXTS[0],
        "Population\n52,428,290",
        "Railways\ntotal: 3,819 km",
    )
    scores = [cosine(minilm, question, text) for text in (answer, other, unrelated)]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 0.6
    assert scores[2] < 0.3


@pytest.mark.parametrize("name", SHA256)
@pytest.mark.parametrize("damage", ["changed", "missing"])
def test_a_damaged_model_file_is_named_with_its_remedy(
    tmp_path: Path, name: str, damage: str
) -> None:
    shutil.copytree(FOLDER, tmp_path / "model")
    path = tmp_path / "model" / name
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-1] + b"\0")
    with pytest.raises(EmbeddingError) as raised:
        MiniLMEmbedder(tmp_path / "model")
    assert str(path) in raised.value.message
    assert ("missing" if damage == "missing" else "checksum") in raised.value.message
    assert raised.value.remedy == "Restore the file from the repository."

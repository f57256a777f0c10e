"""What every reranker keeps to, whatever its order: it invents nothing, repeats nothing
and loses nothing.
"""

from importlib.util import find_spec

import pytest

from chatbot.config.settings import Settings
from chatbot.domain import RequestContext
from chatbot.domain.errors import MissingPackageError
from chatbot.domain.protocols import Reranker
from chatbot.extras import with_extras
from chatbot.extras.rerankers.rerankers import CrossEncoderReranker
from chatbot.models.rerank import RERANKERS
from tests.models.rerank.hits import Scripted, hit, ids
from tests.stores.atlas_setup import Setup

ALL_RERANKERS = with_extras(RERANKERS, Settings())
HITS = [
    hit(f"h{number}", score=1 - number / 20, source=f"s{number % 3}")
    for number in range(10)
]


def reranker(name: str) -> Reranker:
    if (
        name == "cross_encoder"
    ):  # its package is optional; what it does with scores needs none
        return CrossEncoderReranker(
            lambda pairs: [float(len(text)) for _, text in pairs]
        )
    served = Setup()
    served.engine.reranks = True
    return ALL_RERANKERS.builder(name)(
        chat_model=lambda: Scripted("[2, 5]"),
        language="english",
        store=lambda: served.store,
    )


@pytest.mark.parametrize("name", ALL_RERANKERS.names())
@pytest.mark.parametrize("top_k", [1, 3, 10, 50])
def test_as_many_of_the_hits_as_are_wanted_each_once(name: str, top_k: int) -> None:
    found = (
        reranker(name)
        .rerank("question", HITS, top_k=top_k, request=RequestContext())
        .hits
    )
    assert len(found) == min(top_k, len(HITS))
    assert set(ids(found)) <= set(ids(HITS))
    assert len(set(ids(found))) == len(found)
    assert all(one in HITS for one in found)


@pytest.mark.parametrize("name", ALL_RERANKERS.names())
def test_no_hits_and_one_hit(name: str) -> None:
    one = reranker(name)
    assert one.rerank("question", [], top_k=3, request=RequestContext()).hits == ()
    assert ids(
        one.rerank("question", HITS[:1], top_k=3, request=RequestContext()).hits
    ) == ["h0"]


@pytest.mark.parametrize("name", ALL_RERANKERS.names())
@pytest.mark.parametrize("top_k", [1, 5, 50])
def test_every_reranker_asks_for_at_least_what_is_wanted(name: str, top_k: int) -> None:
    assert reranker(name).candidates(top_k) >= top_k


@pytest.mark.skipif(
    find_spec("sentence_transformers") is not None,
    reason="the optional package is installed",
)
def test_the_cross_encoder_names_the_package_it_needs() -> None:
    """R-B8."""
    build = ALL_RERANKERS.builder("cross_encoder")
    with pytest.raises(MissingPackageError, match="sentence-transformers") as raised:
        build(chat_model=Scripted, language="english", store=Setup().open_store)
    assert "pip install sentence-transformers" in raised.value.remedy

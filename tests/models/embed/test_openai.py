"""The OpenAI embedder against a real HTTP server (R-D1, R-A5, R-B3)."""

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from chatbot.config.settings import Settings
from chatbot.domain.errors import EmbeddingError
from chatbot.models.embed.providers import PROVIDERS
from chatbot.models.embed.remote import MAX_REQUESTS, OpenAIEmbedder, build
from tests.data import cases
from tests.fakes.openai_replies import embedding_row, word_hashes
from tests.fakes.openai_server import EMBEDDINGS, FakeOpenAI, Reply

CASES = cases(__file__)
KEY, BATCH = "sk-secret-4711", PROVIDERS["openai"].batch
Build = Callable[..., OpenAIEmbedder]


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(dimensions=16) as running:
        yield running


@pytest.fixture
def embedder(server: FakeOpenAI) -> Iterator[Build]:
    built: list[OpenAIEmbedder] = []

    def build_embedder(name: str = "some-model", **settings: object) -> OpenAIEmbedder:
        values = {
            "openai_api_key": KEY,
            "openai_base_url": server.url,
            "model_timeout": 30.0,
            "model_retries": 0,
        }
        built.append(build(Settings(**{**values, **settings}), model=name))
        return built[-1]

    yield build_embedder
    for used in built:
        used.close()


def rows(*vectors: list[float]) -> dict[str, object]:
    return {
        "object": "list",
        "model": "m",
        "data": [embedding_row(n, vector) for n, vector in enumerate(vectors)],
    }


def unit(text: str) -> list[float]:
    vector = word_hashes(text, 16)
    return [value / math.hypot(*vector) for value in vector]


class TestVectors:
    @pytest.mark.parametrize("base64", [True, False], ids=["base64", "floats"])
    def test_rows_are_unit_vectors_in_the_order_of_the_texts(
        self, embedder, server, base64
    ) -> None:
        server.base64 = base64
        texts = ["growth growth rate", "population", "the capital of Kenya"]
        vectors = embedder().embed_documents(texts)
        assert vectors.dtype == np.float32
        assert vectors == pytest.approx(
            np.array([unit(text) for text in texts]), abs=1e-6
        )

    def test_texts_and_model_are_sent_as_they_are(self, embedder, server) -> None:
        embedder("m-1").embed_documents(["  Two\nlines ", "Zwei"])
        (request,) = server.received(EMBEDDINGS)
        assert (request.body["model"], request.body["input"]) == (
            "m-1",
            ["  Two\nlines ", "Zwei"],
        )
        assert request.headers["authorization"] == f"Bearer {KEY}"

    def test_rows_are_put_in_order_by_their_index(self, embedder, server) -> None:
        shuffled = [
            embedding_row(2, [0.0, 0.0, 3.0]),
            embedding_row(0, [1.0, 0.0, 0.0]),
            embedding_row(1, [0.0, 2.0, 0.0]),
        ]
        server.embed(Reply(body={"object": "list", "model": "m", "data": shuffled}))
        assert (
            embedder().embed_documents(["a", "b", "c"]).tolist() == np.eye(3).tolist()
        )

    def test_threads_share_requests_and_a_text_that_is_refused_fails_alone(
        self, embedder, server
    ) -> None:
        server.embed(*[Reply(silent_before=0.3)] * MAX_REQUESTS)
        server.always(
            EMBEDDINGS,
            lambda request: Reply(
                status=400 if "bad" in request.body["input"] else 200
            ),
        )
        shared, texts = (
            embedder(),
            [*map(str, range(MAX_REQUESTS)), "bad", "growth", "population"],
        )
        with ThreadPoolExecutor(len(texts)) as pool:
            results = []
            for place, text in enumerate(texts):
                results.append(pool.submit(shared.embed_documents, [text]))
                if place < MAX_REQUESTS:
                    server.wait_for(EMBEDDINGS, place + 1)
        sizes = [len(request.body["input"]) for request in server.received(EMBEDDINGS)]
        assert sorted(sizes, reverse=True) == [3, *[1] * (MAX_REQUESTS + 3)]
        assert [
            text for text, one in zip(texts, results, strict=True) if one.exception()
        ] == ["bad"]
        assert results[-1].result()[0] == pytest.approx(
            np.array(unit("population")), abs=1e-6
        )


class TestDimensions:
    def test_those_of_another_model_are_asked_for_once(self, embedder, server) -> None:
        used = embedder("nomic-embed-text")
        assert (used.dimensions, used.dimensions, used.model_id) == (
            16,
            16,
            "openai:nomic-embed-text",
        )
        assert server.calls(EMBEDDINGS) == 1


USELESS: dict[str, tuple[object, str]] = {
    "too few": (rows([1.0, 0.0]), "sent 1 vectors for 2 texts"),
    "too many": (
        rows([1.0, 0.0], [0.0, 1.0], [1.0, 1.0]),
        "sent 3 vectors for 2 texts",
    ),
    "nan": (rows([1.0, 0.0], [0.0, math.nan]), "not a number"),
    "infinite": (rows([1.0, 0.0], [0.0, math.inf]), "not a number"),
    "zeros": (rows([1.0, 0.0], [0.0, 0.0]), "a vector of zeros"),
    "empty": (rows([], []), "an empty one"),
    "ragged": (rows([1.0, 0.0], [0.0]), "not all of one length"),
    "words": (rows([1.0, 0.0], ["x", "y"]), "no vectors"),  # type: ignore[list-item]
    "none": (rows(), "no vectors"),
    "null": ({"object": "list", "model": "m", "data": None}, "no vectors"),
    "base64": (
        {"object": "list", "model": "m", "data": [{"embedding": "AAAA", "index": 0}]},
        "no vectors",
    ),
    "other": ({"message": "hello"}, "no vectors"),
    "list": ([], "no vectors"),
    "text": ("<html>login</html>", "no vectors"),
}


class TestFailures:
    def failure(self, embedder: OpenAIEmbedder, *texts: str) -> EmbeddingError:
        with pytest.raises(EmbeddingError) as raised:
            embedder.embed_documents(list(texts) or ["text"])
        assert KEY not in raised.value.message
        return raised.value

    @pytest.mark.parametrize("texts", [[""], ["  \n"], ["fine", ""]])
    def test_an_empty_text_is_an_error_before_any_request(
        self, embedder, server, texts
    ) -> None:
        assert (
            self.failure(embedder(), *texts).message
            == "An empty text cannot be embedded."
        )
        assert server.calls(EMBEDDINGS) == 0

    def test_a_batch_that_is_too_large_is_sent_in_parts_from_then_on(
        self, embedder, server
    ) -> None:
        too_many = {
            "message": "batch size is invalid, it should not be larger than 10."
        }
        server.always(
            EMBEDDINGS,
            lambda request: (
                Reply(status=400, error=too_many)
                if len(request.body["input"]) > 10
                else Reply()
            ),
        )
        used, texts = embedder(), [f"text {number}" for number in range(32)]
        assert (
            len(used.embed_documents(texts)) == len(used.embed_documents(texts)) == 32
        )
        sizes = [len(request.body["input"]) for request in server.received(EMBEDDINGS)]
        assert sizes[0] == 32
        assert max(sizes[-4:]) <= 8

    def test_a_format_that_is_refused_is_not_asked_for_again(
        self, embedder, server
    ) -> None:
        refused = Reply(
            status=400, error={"message": "Unknown parameter: encoding_format"}
        )
        server.embed(refused, Reply(), Reply())
        used = embedder()
        used.embed_query("a")
        used.embed_query("b")
        asked = [
            request.body.get("encoding_format")
            for request in server.received(EMBEDDINGS)
        ]
        assert asked == ["base64", "float", "float"]

    @pytest.mark.parametrize(("body", "says"), USELESS.values(), ids=USELESS)
    def test_a_useless_answer_is_an_error_that_names_the_model(
        self, embedder, server, body, says
    ) -> None:
        server.embed(Reply(body=body))
        message = self.failure(embedder(), "a", "b").message
        assert "openai:some-model" in message
        assert says in message

    @pytest.mark.parametrize(
        ("status", "calls", "says"), CASES["a status is a typed error"]
    )
    def test_a_status_is_a_typed_error(
        self, embedder, server, status, calls, says
    ) -> None:
        server.always(
            EMBEDDINGS,
            Reply(
                status=status,
                headers={"Retry-After": "0"},
                error={"message": "too many tokens"},
            ),
        )
        error = self.failure(embedder(model_retries=2))
        assert says in error.message
        assert "openai:some-model" in error.message
        assert server.calls(EMBEDDINGS) == calls
        assert error.dependency == "embedder"

    def test_silence_is_a_time_out(self, embedder, server) -> None:
        server.embed(Reply(silent_before=60.0))
        started = time.monotonic()
        assert (
            "did not answer in time"
            in self.failure(embedder(model_timeout=0.3)).message
        )
        assert time.monotonic() - started < 10

    def test_a_failure_in_a_later_batch_gives_no_vectors_at_all(
        self, embedder, server
    ) -> None:
        server.embed(Reply(body=rows(*[[1.0]] * BATCH)), Reply(status=500))
        self.failure(embedder(), *["text"] * (BATCH + 1))

"""What the parts of a keyless question cost: the same questions with one part after the other left out.

Through `POST /query` over the sample reports, in one process, with no cache that answers. What is left out is left out
of this process only; its answers are worse, which is not looked at. Run: python -m benchmarks.parts
"""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from flask.testing import FlaskClient

from benchmarks.compare import questions
from benchmarks.loaded import load_samples
from chatbot.caches.vectors import CachedEmbedder
from chatbot.chat_models import extractive
from chatbot.conversation.service import ChatService, Saved
from chatbot.factory import close_app, create_app
from chatbot.grounding import answer
from chatbot.grounding.citations import Checked
from chatbot.repositories.caches import CacheRepository
from chatbot.request import RequestContext
from chatbot.retrieval import pipeline
from chatbot.retrieval.ordering import HeadingOrder, Refiner
from chatbot.schema import Vector
from chatbot.schema.costs import Sums
from chatbot.settings import Settings

WARM, ROUNDS = 3, 4
Parts = tuple[tuple[str, Callable[[], None]], ...]
_parted, _first = pipeline.parted, extractive.statements


def _one_search() -> None:
    pipeline.parted = lambda scope, catalog: (_parted(scope, catalog)[0], None)


def _no_check() -> None:
    answer.check = lambda response, context, question=None: Checked((), (), True)


def _nothing_kept() -> None:
    CacheRepository.put = lambda *given, **named: None
    ChatService._save = lambda self, question, event, place, owner: Saved(
        event, None, None, Sums.of(event.answer.trace.ledger)
    )


def _no_headings() -> None:
    Refiner.embedded = lambda self, text: (text.question,)
    HeadingOrder.order = lambda self, text, vector, hits, request: list(hits)


def _first_sentence() -> None:
    extractive.ExtractiveChatModel.quotes = lambda self, question, passages, *, request=None: [
        extractive._quotation(_first(passages)[0])
    ]


def _no_vectors() -> None:
    embed, known = CachedEmbedder.embed_query, list[Vector]()

    def always(self: CachedEmbedder, text: str, *, request: RequestContext | None = None) -> Vector:
        if not known:
            known.append(embed(self, "population"))
        return known[0]

    CachedEmbedder.embed_query = always
    CachedEmbedder.prefetch = lambda self, texts, *, request=None: None


PARTS: Parts = (
    ("all of it", lambda: None),
    ("without the second search, in reports of no country", _one_search),
    ("... without the citation check", _no_check),
    ("... and nothing is kept", _nothing_kept),
    ("... without the order by headings, and its embedding", _no_headings),
    ("... with the first sentence quoted, not the nearest", _first_sentence),
    ("... without any embedding", _no_vectors),
)


def main() -> None:
    numbers = itertools.count()
    with serving() as client:
        for _ in range(WARM):
            ask(client, next(numbers))
        for name, leave_out in PARTS:
            leave_out()
            ask(client, next(numbers))
            times = [ms for _ in range(ROUNDS) for ms in ask(client, next(numbers))]
            print(f"{name:55}{statistics.median(times):6.1f} ms", flush=True)


@contextmanager
def serving() -> Iterator[FlaskClient]:
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(Settings(data_dir=Path(folder), embedding_provider="minilm", sample_data="off"))
        load_samples(app.extensions["services"])
        yield app.test_client()
        close_app(app)


def ask(client: FlaskClient, number: int) -> list[float]:
    """Milliseconds of each question of a round, in words that were not used before."""
    times = []
    for question in questions(number):
        started = time.perf_counter()
        assert client.post("/query", json={"query": question}).status_code == 200
        times.append((time.perf_counter() - started) * 1000)
    return times


if __name__ == "__main__":
    main()

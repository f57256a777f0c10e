"""Embedders behind a network: what all of them do, and those over OpenAI's client, for
the rows of `providers`.
"""

import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

import numpy as np
from openai import BadRequestError, OpenAI

from ...config.settings import Settings
from ...domain import Vector
from ...domain.documents import Matrix
from ...domain.errors import (
    CancelledError,
    ChatbotError,
    EmbedderMismatchError,
    EmbeddingError,
    SettingsError,
)
from ...domain.request import RequestContext
from ...language.counts import estimate_tokens
from ..openai_client import (
    Abandoned,
    breakable,
    openai_client,
    refused_name,
    translated,
)
from . import embed_windows
from .providers import PROVIDERS, Endpoint, Kind, Provider, endpoint

_TOO_MANY = re.compile(
    (
        r"\bbatch|too many (?:inputs|texts)|at most \d+ "
        r"(?:inputs|texts)|array.*(?:long|large)"
    ),
    re.IGNORECASE,
)
"""Messages of endpoints about more texts than they take in one request."""


MAX_REQUESTS = 2
"""Requests with passages that are under way at once. What files send meanwhile waits,
and goes in one request.
"""


class RemoteEmbedder(ABC):
    """Implements `protocols.Embedder`. An adapter sends one request; the library it
    uses retries.
    """

    local = False
    multilingual = True

    def __init__(self, provider: Provider, model: str, settings: Settings) -> None:
        listed = provider.find_model(model)
        self.provider = provider
        self._most = self.provider.batch
        self.model = model
        self.shortened = settings.embedding_dimensions
        self.model_id = f"{provider.name}:{model}"
        if self.shortened:
            self.model_id = f"{self.model_id}@{self.shortened}"
        self._dimensions = self.shortened or listed.dimensions
        self._prefixes: dict[Kind, str] = {
            "query": listed.query_prefix,
            "document": listed.document_prefix,
        }
        reads = min(
            settings.embedding_max_tokens or listed.max_tokens,
            self.provider.request_tokens,
        )
        prefix = max(self._prefixes.values(), key=len)
        self.max_tokens = reads - (estimate_tokens(prefix) if prefix else 0)
        self._waiting: dict[Future[Matrix | None], list[str]] = {}
        self._joining = threading.Condition()
        self._under_way = 0

    @property
    def dimensions(self) -> int:
        """The length of the vectors: by the table of models, else the endpoint is asked
        once.
        """
        if self._dimensions is None:
            self.verify()
        assert self._dimensions is not None
        return self._dimensions

    def verify(self) -> None:
        """Embed one word, so that a start finds a wrong key, address or model. Raises
        EmbeddingError: with ``retry_after`` where the endpoint may only be down;
        without, a setting is wrong; EmbedderMismatchError: its vectors are not as long
        as the table says.
        """
        self.embed_query("dimensions")

    def count_tokens(self, text: str) -> int:
        """Return an estimate: most providers publish no tokenizer."""
        return estimate_tokens(text)

    def embed_query(
        self, text: str, *, request: RequestContext | None = None
    ) -> Vector:
        """Return shape (dimensions,). Raises as `embed_documents` does."""
        vector: Vector = self._embed([text], "query", request)[0]
        return vector

    def embed_documents(
        self, texts: Sequence[str], *, request: RequestContext | None = None
    ) -> Matrix:
        """Return shape (len(texts), dimensions). Rows are L2-normalised here: not every
        server does it. Raises EmbeddingError: an empty text, or the endpoint failed;
        EmbedderMismatchError: the vectors are of another length than before.
        """
        return (
            self._embed(texts, "document", request)
            if texts
            else np.empty((0, self.dimensions), dtype=np.float32)
        )

    @abstractmethod
    def close(self) -> None:
        """Close connections and end threads."""

    @abstractmethod
    def _request(
        self, texts: Sequence[str], kind: Kind, request: RequestContext | None
    ) -> Sequence[Any]:
        """Send one request and return a vector for each text, in their order. Raises
        EmbeddingError; AttributeError, TypeError or ValueError: the response has no
        vectors.
        """

    def _embed(
        self, texts: Sequence[str], kind: Kind, request: RequestContext | None
    ) -> Matrix:
        if not all(text.strip() for text in texts):
            raise EmbeddingError("An empty text cannot be embedded.")

        def send(pieces: list[str]) -> Matrix:
            return np.vstack(
                [self._sent(batch, kind, request) for batch in self._batches(pieces)]
            )

        embed = (
            partial(self._joined, send)
            if kind == "document" and request is None
            else send
        )
        return embed_windows(texts, self.max_tokens, self.count_tokens, embed)

    def _joined(self, send: Callable[[list[str]], Matrix], texts: list[str]) -> Matrix:
        """Send texts together with those of other threads that wait; alone where what
        is wrong may be wrong with one of them only.
        """
        promise = Future[Matrix | None]()
        with self._joining:
            self._waiting[promise] = texts
            self._joining.wait_for(
                lambda: promise not in self._waiting or self._under_way < MAX_REQUESTS
            )
            group, self._waiting = (
                (self._waiting, {}) if promise in self._waiting else ({}, self._waiting)
            )
            self._under_way += bool(group)
        if group:
            try:
                rows = send([text for part in group.values() for text in part])
                for result, part in group.items():
                    result.set_result(rows[: len(part)])
                    rows = rows[len(part) :]
            except ChatbotError as error:
                alone = len(group) > 1 and error.retry_after is None
                for result in group:
                    result.set_result(None) if alone else result.set_exception(error)
            finally:
                for result in group:
                    result.cancel()  # after a bug
                with self._joining:
                    self._under_way -= 1
                    self._joining.notify_all()
        vectors = promise.result()
        return send(texts) if vectors is None else vectors

    def _sent(
        self, texts: list[str], kind: Kind, request: RequestContext | None
    ) -> Matrix:
        """Embed a batch; in halves, from now on, where the endpoint says that it is too
        large.
        """
        try:
            return self._vectors(texts, kind, request)
        except EmbeddingError as error:
            if len(texts) == 1 or not _TOO_MANY.search(error.said):
                raise
        self._most = half = len(texts) // 2
        return np.vstack(
            [self._sent(part, kind, request) for part in (texts[:half], texts[half:])]
        )

    def _batches(self, pieces: Sequence[str]) -> Iterator[list[str]]:
        """Yield the pieces in batches that one request may hold, by number and by
        tokens.
        """
        batch: list[str] = []
        total = 0
        for piece in pieces:
            tokens = self.count_tokens(piece)
            if batch and (
                len(batch) == self._most
                or total + tokens > self.provider.request_tokens
            ):
                yield batch
                batch = []
                total = 0
            batch.append(piece)
            total += tokens
        yield batch

    def _vectors(
        self, texts: Sequence[str], kind: Kind, request: RequestContext | None
    ) -> Matrix:
        where = f"The endpoint of {self.model_id}"
        try:
            rows = self._request(
                [self._prefixes[kind] + text for text in texts], kind, request
            )
            vectors = np.asarray(rows, dtype=np.float32)
            width = vectors.shape[1]
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            raise EmbeddingError(
                f"{where} sent no vectors, or not all of one length."
            ) from error
        if len(vectors) != len(texts):
            raise EmbeddingError(
                f"{where} sent {len(vectors)} vectors for {len(texts)} texts."
            )
        # A component whose square is no float32 would make all others zero.
        if not (np.abs(vectors) < np.sqrt(np.finfo(np.float32).max)).all():
            raise EmbeddingError(
                f"{where} sent a vector with a component that is not a number, or too "
                "large."
            )
        if self._dimensions not in (None, width):
            remedy = (
                "Set EMBEDDING_MODEL, and the provider, to the model that it serves."
            )
            if self.shortened:
                remedy = (
                    "Unset EMBEDDING_DIMENSIONS: this model does not shorten its "
                    "vectors."
                )
            expected = f"{self._dimensions} are expected. {remedy}"
            raise EmbedderMismatchError(
                f"{where} sent vectors of {width} dimensions; {expected}"
            )
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not lengths.all() or not width:
            raise EmbeddingError(
                f"{where} sent a vector of zeros, or an empty one, which is like "
                "no other."
            )
        self._dimensions = width
        return np.asarray(vectors / lengths, dtype=np.float32)


class OpenAIEmbedder(RemoteEmbedder):
    """The SDK retries, with exponential back-off and jitter; its clients are
    thread-safe. Ingestion keeps its connections. Those of a question are not kept, so
    that cancelling it can break them.
    """

    def __init__(
        self,
        client: OpenAI,
        provider: Provider,
        model: str,
        settings: Settings,
        where: Endpoint,
    ) -> None:
        super().__init__(provider, model, settings)
        self._client = client
        self._where = where
        self._format: dict[str, Any] = {}

    def close(self) -> None:
        self._client.close()

    def _request(
        self, texts: Sequence[str], kind: Kind, request: RequestContext | None
    ) -> Sequence[Any]:
        """See `RemoteEmbedder`. Raises CancelledError too, once ``request`` is
        cancelled.
        """
        if request is None:
            return self._translated(self._client, texts, kind)
        try:
            with breakable(self._client, request.cancel) as client:
                return self._translated(client, texts, kind)
        except (EmbeddingError, Abandoned) as error:
            if request.cancelled:
                raise CancelledError("Cancelled.") from error
            raise

    def _translated(
        self, client: OpenAI, texts: Sequence[str], kind: Kind
    ) -> Sequence[Any]:
        key = self._where.key_setting
        url = self._where.url_setting
        unknown = f"Check EMBEDDING_MODEL and {url}."
        with translated(
            EmbeddingError,
            self.model_id,
            key_setting=key,
            url_setting=url,
            unknown_model=unknown,
        ):
            parameters = self.provider.parameters(kind, self.shortened)
            if (
                self.provider.adapter == "nomic"
            ):  # an API of its own over the same client
                body = {"model": self.model, "texts": list(texts), **parameters}
                answer: Any = client.post("/embedding/text", body=body, cast_to=object)
                vectors: Sequence[Any] = answer["embeddings"]
                return vectors

            def create() -> Any:
                return client.embeddings.create(
                    model=self.model, input=list(texts), **parameters, **self._format
                )

            try:
                response = create()
            except BadRequestError as error:
                if self._format or not refused_name(error, ["encoding_format"]):
                    raise
                self._format = {
                    "encoding_format": "float"
                }  # the SDK asks for base64, which is shorter
                response = create()
            places = [row.index or 0 for row in response.data]
            # Gemini behind LiteLLM numbered all rows 0, in the order of the texts
            # (BerriAI/litellm#25656).
            if len(set(places)) not in {1, len(places)}:
                raise EmbeddingError(
                    f"The endpoint of {self.model_id} sent two vectors for one text."
                )
            return [
                row.embedding
                for row in sorted(response.data, key=lambda item: item.index or 0)
            ]


def build(
    settings: Settings, *, model: str, provider: str = "openai"
) -> RemoteEmbedder:
    """Build the embedder of a provider, without sending anything to it. Raises
    SettingsError: a setting that this provider needs is missing or wrong.
    """
    row = PROVIDERS[provider]
    where = endpoint(settings, row)
    if not model:
        raise SettingsError(
            f"EMBEDDING_MODEL is not set: the embedding provider {provider} "
            "has no default."
        )
    client = openai_client(
        settings,
        key=where.key,
        base_url=where.base_url or "",
        azure=row.adapter == "azure_openai",
    )
    return OpenAIEmbedder(client, row, model, settings, where)

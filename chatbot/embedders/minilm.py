"""The built-in local model: all-MiniLM-L6-v2, int8 ONNX, 384 dimensions, English. No key, no network.

One text per inference: dynamic int8 makes a vector depend on the others in its batch, and a batch is no faster.
So a vector is a function of its text, and caches, resumes and comparisons are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from ..errors import SettingsError
from ..request import RequestContext
from ..schema import Matrix, Vector
from ..settings import Settings
from .base import average, check_file, token_windows

MODEL = "all-minilm-l6-v2"
FOLDER = Path(__file__).parent / "models" / MODEL
SHA256 = {
    "model-int8.onnx": "482f3a0d5b8792155effc596c7b99edc21227bef4554882ce6462237c4b43a40",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
DIMENSIONS = 384
MAX_TOKENS = 256
SPECIAL_TOKENS = 2
"""[CLS] and [SEP], counted in MAX_TOKENS."""
PARALLEL = 2
TEXTS_KEPT = 64
"""Whose tokens are at hand."""


class MiniLMEmbedder:
    """Implements `protocols.Embedder`. Thread-safe."""

    model_id = f"minilm:{MODEL}-int8"
    local = True
    multilingual = False
    dimensions = DIMENSIONS
    max_tokens = MAX_TOKENS - SPECIAL_TOKENS

    def __init__(self, folder: Path = FOLDER) -> None:
        for name, expected in SHA256.items():
            check_file(folder / name, expected, remedy="Restore the file from the repository.")
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        options = onnxruntime.SessionOptions()
        # Resident memory 170 MB instead of 360, and no core is kept busy waiting.
        options.enable_cpu_mem_arena = False
        options.intra_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(
            str(folder / "model-int8.onnx"), options, providers=["CPUExecutionProvider"]
        )

        # A question is embedded and counted.
        self._ids = lru_cache(maxsize=TEXTS_KEPT)(self._tokenized)

    def _tokenized(self, text: str) -> Sequence[int]:
        # As a batch of one: for a megabyte `encode` would keep all other threads waiting, a second long.
        ids: Sequence[int] = self._tokenizer.encode_batch([text], add_special_tokens=False)[0].ids
        return ids

    def count_tokens(self, text: str) -> int:
        """Tokens of a text, without the two that begin and end every input."""
        return len(self._ids(text))

    def embed_query(self, text: str, *, request: RequestContext | None = None) -> Vector:
        """Shape (384,). Text longer than the model reads is embedded window by window and averaged: nothing is cut."""
        windows = token_windows(self._ids(text), self.max_tokens)
        return average([self._infer(window) for window in windows], [len(window) for window in windows])

    def embed_documents(self, texts: Sequence[str], *, request: RequestContext | None = None) -> Matrix:
        """Shape (len(texts), 384); each row as `embed_query` gives it."""
        with ThreadPoolExecutor(PARALLEL) as pool:
            vectors = list(pool.map(self.embed_query, texts))
        return np.vstack(vectors) if vectors else np.empty((0, DIMENSIONS), dtype=np.float32)

    def _infer(self, ids: Sequence[int]) -> Vector:
        """Masked mean over the last hidden state, L2-normalised."""
        cls, sep = self._tokenizer.token_to_id("[CLS]"), self._tokenizer.token_to_id("[SEP]")
        tokens = np.asarray([[cls, *ids, sep]], dtype=np.int64)
        inputs = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
        }
        hidden = np.asarray(self._session.run(["last_hidden_state"], inputs)[0][0])
        pooled = hidden.mean(axis=0)
        return np.asarray(pooled / np.linalg.norm(pooled), dtype=np.float32)


def build(settings: Settings, *, model: str) -> MiniLMEmbedder:
    """Load the model. Raises SettingsError: another model is wanted; EmbeddingError: it cannot be loaded."""
    if model != MODEL:
        raise SettingsError(f"EMBEDDING_MODEL={model!r} is not a model of minilm. Valid: {MODEL}.")
    return MiniLMEmbedder()

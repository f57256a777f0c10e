"""How an index finds rows by meaning: by the vectors that are stored with them
(`vector`), or by those that MongoDB itself makes of their texts (`autoEmbed`).

What the vendor says of the second, as read on 2026-11-30:
mongodb.com/docs/vector-search/crud-embeddings/automated-embedding, and
skills/mongodb-search-and-ai/references/automated-embedding.md of
github.com/mongodb/agent-skills (3637f5da).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

import numpy as np

from ...database.core import Json
from ...domain.documents import Meaning
from ...domain.errors import EmbedderMismatchError

NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


class MeaningField(Protocol):
    """The field of a vector index by which it is searched."""

    type: ClassVar[str]
    """The type of the field in the definition of an index."""
    look_seconds: ClassVar[float]
    """Seconds between two looks at which rows of a document the index has; 0 = a look
    costs nothing.
    """

    @property
    def path(self) -> str: ...

    @property
    def any_question(self) -> Meaning:
        """What finds all rows of a small scope."""

    def declared(self, options: Mapping[str, Any] = NO_OPTIONS) -> Json:
        """Return the field as a definition declares it."""

    def asked(self, meaning: Meaning) -> Json:
        """Return the part of `$vectorSearch` that says what is searched for. Raises
        EmbedderMismatchError: it is a text where vectors are searched, or a vector
        where texts are.
        """


@dataclass(frozen=True, slots=True)
class VectorField:
    """Vectors that are stored with the rows."""

    type: ClassVar[str] = "vector"
    look_seconds: ClassVar[float] = 0.0
    path: str
    dimensions: int

    @property
    def any_question(self) -> Meaning:
        return np.eye(1, self.dimensions, dtype=np.float32).ravel()

    def declared(self, options: Mapping[str, Any] = NO_OPTIONS) -> Json:
        field: Json = {"type": self.type, "path": self.path}
        return {**field, "numDimensions": self.dimensions, **options}

    def asked(self, meaning: Meaning) -> Json:
        if isinstance(meaning, str):
            raise EmbedderMismatchError(
                "The passages are searched by their stored vectors, and the embedding "
                "model gives none. Set the model that the database was written with."
            )
        return {"path": self.path, "queryVector": meaning.tolist()}


@dataclass(frozen=True, slots=True)
class AutoEmbedField:
    """Texts that MongoDB embeds, as it embeds the text of each question."""

    type: ClassVar[str] = "autoEmbed"
    look_seconds: ClassVar[float] = 20.0
    """A look is a question, of which a free cluster without a payment card has three a
    minute, those of people included.
    """
    path: str
    model: str

    @property
    def any_question(self) -> Meaning:
        return "any"

    def declared(self, options: Mapping[str, Any] = NO_OPTIONS) -> Json:
        """Leave out the options of vectors: the model decides, and Community refuses
        them (AutoEmbeddingIndexValidator.java of github.com/mongodb/mongot).
        """
        field: Json = {"type": self.type, "modality": "text"}
        return {**field, "path": self.path, "model": self.model}

    def asked(self, meaning: Meaning) -> Json:
        """Name the text alone, which servers of every release take; newer ones take
        `{"text": ...}` too (VectorSearchQueryInput.java of mongot).
        """
        if not isinstance(meaning, str):
            raise EmbedderMismatchError(
                f"MongoDB embeds the passages by {self.model}, and the question has a "
                "vector of another model. Set EMBEDDING_PROVIDER=atlas."
            )
        return {"path": self.path, "query": meaning}

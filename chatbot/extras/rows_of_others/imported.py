"""Import the rows of another program with their vectors: no text is embedded, but for
three that name the model.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ...database import rows as forms
from ...database.core import Database, Json
from ...domain import Chunk, DocumentRecord, Embedder, Vector
from ...domain.errors import DatabaseError, EmbedderMismatchError
from ...language.reported_figures import figure_years
from ...library.pipeline import Ingestor
from ...library.sources import document_id
from ...stores.chunks import chunk_from_json
from .layouts import READ, Layout, MappedCollection

FIELDS = (
    forms.TEXT_FIELD,
    forms.EMBEDDING_FIELD,
    "document_name",
    "document_page_number",
    *READ,
)


@dataclass(slots=True)
class Imported:
    """Numbers of reports, and of the rows of which no passage could be made, by what
    they lack.
    """

    reports: int = 0
    unchanged: int = 0
    passages: int = 0
    without_text: int = 0
    without_vector: int = 0


class Importer:
    """Reads the collection ``name`` of ``source`` in a layout and writes each report in
    one step. Run it again after an interruption: reports that are there are left alone.
    ``collection``: where they go; None = by their metadata.
    """

    def __init__(
        self,
        source: Database,
        name: str,
        layout: Layout,
        *,
        ingestor: Ingestor,
        fields: Sequence[str],
        embedder: Embedder,
        collection: str | None = None,
    ) -> None:
        self._rows = MappedCollection(name, source, layout, fields)
        self._ingestor = ingestor
        self._fields = tuple(fields)
        self._embedder = embedder
        self._collection = collection
        self.total = self._rows.count({})
        """Rows; all of them are read."""
        self.imported = Imported()

    def describe(self) -> Iterator[tuple[str, str, str]]:
        """Yield our field, the path that it is read from, and a value, for each field
        that a row has.
        """
        row = next(iter(self._rows.find({}, limit=1)), {})
        for name in dict.fromkeys((*FIELDS, *self._fields)):
            if (value := row.get(name)) not in (None, ""):
                vector = (
                    forms.usable_vector(value, None)
                    if name == forms.EMBEDDING_FIELD
                    else None
                )
                shown = str(value) if vector is None else f"{len(vector)} numbers"
                yield name, self._rows.path(name), shown[:60]

    def check_model(self) -> float:
        """Return how close the vectors are to those of the embedder (cosine). Raises
        EmbedderMismatchError: they are of another model; DatabaseError: no row has a
        text and a vector; EmbeddingError.
        """
        texts = list[str]()
        vectors = list[Vector]()
        for row in self._rows.find({}):
            text = forms.text_value(row.get(forms.TEXT_FIELD))
            vector = forms.usable_vector(row.get(forms.EMBEDDING_FIELD), None)
            if text.strip() and vector is not None:
                texts.append(text)
                vectors.append(vector)
            # Three texts show whether the vectors are of the configured model.
            if len(texts) == 3:
                break
        if not texts:
            paths = " and ".join(
                map(self._rows.path, (forms.TEXT_FIELD, forms.EMBEDDING_FIELD))
            )
            raise DatabaseError(
                f"No row of {self._rows.name!r} has a text and a vector in {paths}.",
                remedy="Name the paths: --map text=body --map embedding=vector.",
            )
        remedy = (
            "Set EMBEDDING_PROVIDER and EMBEDDING_MODEL to the model that made them."
        )
        if {len(vector) for vector in vectors} != {self._embedder.dimensions}:
            raise EmbedderMismatchError(
                f"The vectors of {self._rows.name!r} have {len(vectors[0])} "
                "dimensions, those of "
                f"{self._embedder.model_id} {self._embedder.dimensions}. {remedy}"
            )
        made = self._embedder.embed_documents(texts)
        cosines = [
            one @ other / (np.linalg.norm(one) * np.linalg.norm(other))
            for one, other in zip(vectors, made, strict=True)
        ]
        # Frameworks embed some metadata with the text; other models agree at random.
        if (nearness := float(np.mean(cosines))) < 0.5:
            raise EmbedderMismatchError(
                f"The vectors of {self._rows.name!r} are of another model than "
                f"{self._embedder.model_id}: for the same "
                f"texts their cosine is {nearness:.2f}. {remedy}"
            )
        return nearness

    def run(self, report: Callable[[int], None]) -> Imported:
        """Import all reports; ``report`` gets the number of rows of each step. Raises
        DependencyError.
        """
        ids = defaultdict[str, list[Any]](list)
        for row in self._rows.find({}, {forms.TEXT_FIELD: 0, forms.EMBEDDING_FIELD: 0}):
            ids[row["document_id"]].append(row["_id"])
        for identity, of_report in ids.items():
            rows = self._rows.find({"_id": {"$in": of_report}})
            # Readers of PDF files make a document of each page, whose places begin
            # anew.
            order = ("document_page_number", "ordinal", "start")
            in_order = sorted(
                rows,
                key=lambda row: [
                    forms.number_value(row.get(name)) or 0 for name in order
                ],
            )
            self._import(identity, in_order)
            report(len(of_report))
        return self.imported

    def _import(self, identity: str, rows: Sequence[Json]) -> None:
        """Make the rows of one report its passages."""
        read = self._usable(rows)
        if not read:
            return
        name = self._rows.name
        id = document_id(f"{name}:{identity}")
        metadata = [chunk.metadata for chunk, _ in read]
        collection = self._ingestor.collection_of(metadata, self._collection)
        version = _version(collection, read)
        chunks = _in_reading_order(read, id, version, collection)
        first = chunks[0]
        shared = set.intersection(*(set(one.items()) for one in metadata))
        record = DocumentRecord(
            id=id,
            name=first.document_name,
            title=first.title,
            source=f"{name}:{identity}",
            collection=collection,
            status="pending",
            version=version,
            metadata=dict(shared),
            pages=max(chunk.page or 0 for chunk in chunks) or None,
        )
        vectors = {
            chunk.search_text: vector
            for chunk, (_, vector) in zip(chunks, read, strict=True)
        }
        if self._ingestor.store_ready(record, chunks, vectors):
            self.imported.reports += 1
            self.imported.passages += len(chunks)
        else:
            self.imported.unchanged += 1

    def _usable(self, rows: Sequence[Json]) -> list[tuple[Chunk, Vector]]:
        """Return the rows with a text and a vector; count the others."""
        usable: list[tuple[Chunk, Vector]] = []
        for row in rows:
            chunk = chunk_from_json(row, collection="", fields=self._fields)
            vector = forms.usable_vector(
                row.get(forms.EMBEDDING_FIELD), self._embedder.dimensions
            )
            has_text = bool(chunk.text.strip())
            if not has_text:
                self.imported.without_text += 1
            if vector is None:
                self.imported.without_vector += 1
            elif has_text:
                usable.append((chunk, vector))
        return usable


def _version(collection: str, read: Sequence[tuple[Chunk, Vector]]) -> str:
    """Return a text that changes with the passages and their vectors."""
    digest = hashlib.sha256(collection.encode())
    for chunk, vector in read:
        passage = json.dumps(asdict(chunk), sort_keys=True, default=str)
        digest.update(passage.encode() + vector.tobytes())
    return digest.hexdigest()[:12]


def _in_reading_order(
    read: Sequence[tuple[Chunk, Vector]], id: str, version: str, collection: str
) -> list[Chunk]:
    """Return the passages as those of a report of ours, one after the other."""
    chunks = []
    start = 0
    for ordinal, (chunk, _) in enumerate(read):
        end = start + len(chunk.text)
        chunks.append(
            replace(
                chunk,
                id=Chunk.make_id(id, version, ordinal),
                document_id=id,
                collection=collection,
                ordinal=ordinal,
                start=start,
                end=end,
                figure_years=figure_years(chunk.text),
            )
        )
        start = end + 1
    return chunks

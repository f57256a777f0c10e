"""The in-process index on disk, so that a start need not read every passage again.

Derived and disposable: the database stays the truth. A snapshot says which corpus it was made from and at which
position of the change log; what happened since is loaded from the database. A file that does not fit, or cannot be
read, is as good as none.
"""

from __future__ import annotations

import json
import logging
import os
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..keywords import Postings
from .index import Clusters, Segment
from .rows import Column, Rows

log = logging.getLogger(__name__)
FORMAT = 4


@dataclass(frozen=True, slots=True)
class SnapshotKey:
    """What an index depends on besides the passages; another key means another index."""

    corpus: str
    collections: tuple[str, ...]
    fields: tuple[str, ...]
    embedding_field: str
    dimensions: int
    language: str
    format: int = FORMAT


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An index as of ``position`` in the change log; ``marker`` is `Collection.write_marker` of all collections."""

    position: int
    marker: int
    vocabulary: dict[str, int]
    segments: tuple[Segment, ...]


def write_snapshot(path: Path, key: SnapshotKey, snapshot: Snapshot) -> None:
    """Write the file in one step: a reader sees the old one or the new one."""
    arrays: dict[str, NDArray[Any]] = {}
    values = []
    for number, segment in enumerate(snapshot.segments):
        arrays |= {f"{number}/{name}": array for name, array in _arrays(segment).items()}
        columns = {name: column.values for name, column in segment.values.items()}
        values.append({"documents": segment.documents.values, "columns": columns})
    header = {
        "key": asdict(key),
        "position": snapshot.position,
        "marker": snapshot.marker,
        "vocabulary": list(snapshot.vocabulary),
        "segments": values,
    }
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with temporary.open("wb") as file:
        np.savez(file, header=_text(json.dumps(header)), **arrays)  # type: ignore[arg-type]  # names are free
    temporary.replace(path)


def read_snapshot(path: Path, key: SnapshotKey) -> Snapshot | None:
    """The snapshot, or None where there is none that fits."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            header = json.loads(stored["header"].tobytes())
            if header["key"] != json.loads(json.dumps(asdict(key))):
                return None
            segments = [_segment(stored, number, values) for number, values in enumerate(header["segments"])]
    except FileNotFoundError:
        return None
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
        log.warning("The index snapshot %s cannot be read (%s): the index is built from the database.", path, error)
        return None
    vocabulary = {term: number for number, term in enumerate(header["vocabulary"])}
    return Snapshot(header["position"], header["marker"], vocabulary, tuple(segments))


def _arrays(segment: Segment) -> dict[str, NDArray[Any]]:
    rows = segment.all_rows()
    return {
        "ids": _text("\n".join(rows.ids)),
        "documents": rows.documents.codes,
        "vectors": rows.vectors,
        "terms": rows.terms,
        "lengths": rows.lengths,
        "starts": segment.postings.starts,
        "rows": segment.postings.rows,
        "counts": segment.postings.counts,
        "alive": segment.alive,
        **({"centroids": segment.clusters.centroids, "clusters": segment.clusters.codes} if segment.clusters else {}),
        **{f"column/{name}": column.codes for name, column in rows.values.items()},
    }


def _segment(stored: Mapping[str, NDArray[Any]], number: int, values: Mapping[str, Any]) -> Segment:
    def array(name: str) -> NDArray[Any]:
        return stored[f"{number}/{name}"]

    rows = Rows(
        np.asarray(array("ids").tobytes().decode().split("\n"), dtype=object),
        Column(tuple(values["documents"]), array("documents")),
        {name: Column(tuple(found), array(f"column/{name}")) for name, found in values["columns"].items()},
        array("vectors"),
        array("terms"),
        array("lengths"),
    )
    postings = Postings(array("starts"), array("rows"), array("counts"))
    clusters = Clusters(array("centroids"), array("clusters")) if f"{number}/clusters" in stored else None
    return Segment.build(rows, postings, array("alive"), clusters)


def _text(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode(), dtype=np.uint8)

"""The in-process index on disk, so that a start does not read every passage again.

A snapshot is derived from the database and disposable. It names its corpus and position of the change log; later
changes are loaded from the database. One that does not fit, or cannot be read, is ignored.

It is a folder with a file for each segment, which never changes and is mapped, so that the workers share its memory and
a start reads nothing, and the file `current`, which names them and the deleted rows. A change writes only new segments.
"""

import json
import logging
import os
import sys
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...domain import Several, each_value
from ..keywords import Postings
from .index import ChunkIndex, Segment
from .rows import ARRAYS, Column, Rows
from .vectors import Clusters, ShortVectors, WholeVectors, faiss, shortened

log = logging.getLogger(__name__)
FORMAT = 8
CURRENT = "current"
ALIGNMENT = 64
POSTINGS = ("starts", "rows", "counts")
LARGE_BYTES = 256_000_000
"""Size of a segment's vectors from which on short ones are stored too; smaller ones are searched faster as mapped."""
STRAY_SECONDS = 3600.0
"""Age at which a segment's file that nothing names is deleted: another process may be about to name a newer one."""
Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Pieces:
    """An array that is computed while it is written, because it is large."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    made: Iterator[Array]


Key = Sequence[Any]
"""The corpus, and the settings that an index depends on besides its passages; JSON values."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An index as of ``position`` and ``epoch`` of the change log. ``marker`` is `Collection.estimated_count` of all
    collections."""

    index: ChunkIndex
    position: int = -1
    marker: int = -1
    epoch: int = -1


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Let one process at a time build the index of this folder; the system releases the lock of one that dies.
    Without effect where files cannot be locked: on Windows, where one process serves, or on a read-only disk."""
    with ExitStack() as stack:
        if sys.platform != "win32":
            import fcntl  # not on Windows

            try:
                folder.parent.mkdir(parents=True, exist_ok=True)
                file = stack.enter_context(folder.with_suffix(".lock").open("a"))
                fcntl.flock(file, fcntl.LOCK_EX)
            except OSError as error:
                log.info("%s cannot be locked (%s): several processes may build the same index.", folder, error)
        yield


def write_snapshot(folder: Path, key: Key, snapshot: Snapshot) -> tuple[Segment, ...]:
    """Return the segments as they are in the files. A reader sees the old snapshot or the new one."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)  # also one of an earlier version: the passages are in it
    segments = tuple(segment if segment.file else _written(folder, segment) for segment in snapshot.index.segments)
    header = {"key": [FORMAT, *key], **{name: getattr(snapshot, name) for name in ("position", "marker", "epoch")}}
    header |= {"vocabulary": list(snapshot.index.vocabulary), "segments": [segment.file for segment in segments]}
    _write(folder / CURRENT, header, {segment.file: np.packbits(segment.alive) for segment in segments})
    named = {CURRENT, *(segment.file for segment in segments)}
    for path in folder.iterdir():
        if path.name not in named and time.time() - path.stat().st_mtime > STRAY_SECONDS:
            path.unlink(missing_ok=True)
    folder.with_suffix(".npz").unlink(missing_ok=True)  # of an older version
    return segments


def read_snapshot(folder: Path, key: Key) -> Snapshot | None:
    """Return the snapshot, or None where none fits."""
    try:
        header, alive, _ = _map(folder / CURRENT)
        if header["key"] != json.loads(json.dumps([FORMAT, *key])):
            return None
        segments = []
        for file in header["segments"]:
            segment = _read_segment(folder, file)
            bits = np.unpackbits(alive[file], count=len(segment)).astype(np.bool_)
            segments.append(replace(segment, alive=bits))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:  # RuntimeError: FAISS's
        log.warning("The index snapshot %s cannot be read (%s): the index is built from the database.", folder, error)
        return None
    vocabulary = {term: number for number, term in enumerate(header["vocabulary"])}
    return Snapshot(ChunkIndex(tuple(segments), vocabulary), header["position"], header["marker"], header["epoch"])


def _written(folder: Path, segment: Segment) -> Segment:
    file, rows, clusters = uuid.uuid4().hex, segment.rows, segment.clusters
    arrays: dict[str, Array | Pieces] = {
        **{name: getattr(rows, name) for name in ARRAYS},
        **{name: getattr(segment.postings, name) for name in POSTINGS},
        "documents": rows.documents.codes,
        "by_id": segment.by_id,
        **{f"column/{name}": column.codes for name, column in rows.values.items()},
    }
    if clusters:
        arrays["clusters"] = faiss.serialize_index(clusters.index)
        if rows.vectors.nbytes >= LARGE_BYTES:
            steps, error = np.empty(len(rows.vectors), dtype=np.float32), np.zeros(1)
            codes = Pieces(np.dtype(np.int8), rows.vectors.shape, shortened(rows.vectors, steps, error))
            arrays |= {"short": codes, "steps": steps, "error": error}  # in the order in which they are known
    header = {
        "documents": rows.documents.values,
        "columns": {
            name: [list(each_value(value)) if isinstance(value, Several) else value for value in column.values]
            for name, column in rows.values.items()
        },
        "share": clusters.share if clusters else 0,
        "unclustered": segment.unclustered,
    }
    _write(folder / file, header, arrays)
    return replace(_read_segment(folder, file), alive=segment.alive)


def _read_segment(folder: Path, file: str) -> Segment:
    header, arrays, offsets = _map(folder / file)
    columns = {
        name: Column(
            tuple(Several(value) if isinstance(value, list) else value for value in values), arrays[f"column/{name}"]
        )
        for name, values in header["columns"].items()
    }
    documents = Column(tuple(header["documents"]), arrays["documents"])
    rows = Rows(documents=documents, values=columns, **{name: arrays[name] for name in ARRAYS})
    codes, short, dimensions = arrays.get("clusters"), arrays.get("short"), rows.vectors.shape[1]
    may_read = short is not None and hasattr(os, "pread")  # on Windows they are mapped
    return Segment(
        rows,
        arrays["by_id"],
        Postings(*(arrays[name] for name in POSTINGS)),
        np.ones(len(rows.ids), dtype=np.bool_),
        Clusters(faiss.deserialize_index(np.array(codes)), header["share"]) if codes is not None else None,
        header["unclustered"],
        file,
        ShortVectors(short, arrays["steps"], float(arrays["error"][0])) if short is not None else None,
        WholeVectors(folder / file, offsets["vectors"], dimensions) if may_read else None,
    )


def _write(path: Path, header: Mapping[str, Any], arrays: Mapping[str, Array | Pieces]) -> None:
    """Write a line of JSON with the header and the arrays' shapes, then the arrays; in one step."""
    shapes = {name: (array.dtype.str, array.shape) for name, array in arrays.items()}
    first = json.dumps({"header": header, "arrays": shapes}).encode() + b"\n"
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
    with temporary.open("wb") as file:
        file.write(first)
        for array in arrays.values():
            file.write(bytes(-file.tell() % ALIGNMENT))
            for piece in array.made if isinstance(array, Pieces) else (array,):
                file.write(np.ascontiguousarray(piece).data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def _map(path: Path) -> tuple[dict[str, Any], dict[str, Array], dict[str, int]]:
    """Return the header and the arrays of a file, and where each begins; an array is read when it is used. Raises
    OSError, ValueError: it is damaged."""
    with path.open("rb") as file:
        first = file.readline()
    described, offset = json.loads(first), len(first)
    content = np.memmap(path, mode="r")
    arrays: dict[str, Array] = {}
    offsets: dict[str, int] = {}
    for name, (dtype, shape) in described["arrays"].items():
        offset += -offset % ALIGNMENT
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        if offset + size > len(content):
            raise ValueError("it ends too early")
        arrays[name], offsets[name] = np.ndarray(shape, dtype, content, offset), offset
        offset += size
    return described["header"], arrays, offsets

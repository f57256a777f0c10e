"""The in-process index on disk, so that a start does not read every passage again.

A snapshot is derived from the database and disposable. It names its corpus and position
of the change log; later changes are loaded from the database. One that does not fit, or
cannot be read, is ignored.

It is a folder with a folder for each segment, whose arrays never change and are mapped,
so that the workers share their memory and a start reads nothing, and the file
`current.json`, which names them and the deleted rows. A change writes only new
segments.
"""

import base64
import json
import logging
import os
import shutil
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...domain.scope import Several, Value
from ..keywords import Postings
from .index import ChunkIndex, Segment
from .rows import ARRAYS, Column, Rows
from .vectors import Clusters, ShortVectors, WholeVectors, faiss

log = logging.getLogger(__name__)
FORMAT = 10
"""Raised with each change of the files; one of another format is not read."""
CURRENT = "current.json"
HEADER = "header.json"
POSITIONS = ("position", "marker", "passages", "in_place")
"""The fields of `Snapshot` that the header repeats."""
POSTINGS = ("starts", "rows", "counts")
"""The fields of `Postings`, and the names of their files."""
LARGE_BYTES = 256_000_000
"""Size of a segment's vectors from which on short ones are stored too; smaller ones are
searched faster as mapped.
"""
STRAY_SECONDS = 3600.0
"""Age at which a segment that nothing names is deleted: another process may be about to
name a newer one.
"""
Key = Sequence[Any]
"""The corpus, and the settings that an index depends on besides its passages; JSON
values.
"""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An index as of a ``position`` of `Changes`, and of its numbers of changes of
    ``passages`` and of those ``in_place``. ``marker`` is `Collection.estimated_count`
    of all collections.
    """

    index: ChunkIndex
    position: int = -1
    marker: int = -1
    passages: int = -1
    in_place: int = -1


@contextmanager
def one_builder(folder: Path) -> Iterator[None]:
    """Let one process at a time build the index of this folder; the system releases the
    lock of one that dies. Without effect where files cannot be locked: on Windows,
    where one process serves, or on a read-only disk.
    """
    with ExitStack() as open_files:
        if sys.platform != "win32":
            import fcntl  # not on Windows

            try:
                folder.parent.mkdir(parents=True, exist_ok=True)
                lock = open_files.enter_context(folder.with_suffix(".lock").open("a"))
                fcntl.flock(lock, fcntl.LOCK_EX)
            except OSError as error:
                log.info(
                    "%s cannot be locked (%s): several processes may build the same "
                    "index.",
                    folder,
                    error,
                )
        yield


def write_snapshot(folder: Path, key: Key, snapshot: Snapshot) -> tuple[Segment, ...]:
    """Return the segments as they are in the files. A reader sees the old snapshot or
    the new one.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)  # also one of an earlier version: the passages are in it
    segments: list[Segment] = []
    alive: dict[str, str] = {}
    for segment in snapshot.index.segments:
        stored = segment if segment.file else _write_segment(folder, segment)
        segments.append(stored)
        bits = np.packbits(stored.alive).tobytes()
        alive[stored.file] = base64.b64encode(bits).decode()
    header = {
        "key": [FORMAT, *key],
        **{name: getattr(snapshot, name) for name in POSITIONS},
        "vocabulary": list(snapshot.index.vocabulary),
        "segments": alive,
    }
    temporary = folder / f"{CURRENT}.{uuid.uuid4().hex}.tmp"
    temporary.write_text(json.dumps(header), "utf-8")
    _sync(temporary)
    temporary.replace(folder / CURRENT)
    _remove_strays(folder, {CURRENT, *alive})
    folder.with_suffix(".npz").unlink(missing_ok=True)  # of an older version
    return tuple(segments)


def _remove_strays(folder: Path, names: set[str]) -> None:
    """Delete what is old and has none of these names."""
    for path in folder.iterdir():
        if path.name in names or time.time() - path.stat().st_mtime <= STRAY_SECONDS:
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def read_snapshot(folder: Path, key: Key) -> Snapshot | None:
    """Return the snapshot, or None where none fits."""
    try:
        header = json.loads((folder / CURRENT).read_bytes())
        if header["key"] != json.loads(json.dumps([FORMAT, *key])):
            return None
        segments = []
        for file, alive in header["segments"].items():
            segment = _read_segment(folder, file)
            packed = np.frombuffer(base64.b64decode(alive), np.uint8)
            bits = np.unpackbits(packed, count=len(segment)).astype(np.bool_)
            segments.append(replace(segment, alive=bits))
    except FileNotFoundError:
        return None
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        EOFError,
        RuntimeError,  # FAISS's
    ) as error:
        log.warning(
            "The index snapshot %s cannot be read (%s): the index is built from the "
            "database.",
            folder,
            error,
        )
        return None
    vocabulary = {term: number for number, term in enumerate(header["vocabulary"])}
    return Snapshot(
        ChunkIndex(tuple(segments), vocabulary),
        **{name: header[name] for name in POSITIONS},
    )


def _write_segment(folder: Path, segment: Segment) -> Segment:
    """Return the segment as it is in its new files."""
    file = uuid.uuid4().hex
    segment_folder = folder / file
    segment_folder.mkdir()
    rows = segment.rows
    arrays: dict[str, NDArray[Any]] = {
        "documents": rows.documents.codes,
        "by_id": segment.by_id,
    }
    for name in ARRAYS:
        arrays[name] = getattr(rows, name)
    for name in POSTINGS:
        arrays[name] = getattr(segment.postings, name)
    columns: dict[str, list[Any]] = {}
    for number, (name, column) in enumerate(rows.values.items()):
        arrays[f"column_{number}"] = column.codes
        columns[name] = [_to_json(value) for value in column.values]
    share = 0.0
    if segment.clusters:
        share = segment.clusters.share
        arrays["clusters"] = faiss.serialize_index(segment.clusters.index)
        if rows.vectors.nbytes >= LARGE_BYTES:
            ShortVectors.write(rows.vectors, segment_folder)
    for name, array in arrays.items():
        np.save(segment_folder / f"{name}.npy", array)
    header = {
        "documents": rows.documents.values,
        "columns": columns,
        "share": share,
        "unclustered": segment.unclustered,
    }
    (segment_folder / HEADER).write_text(json.dumps(header), "utf-8")
    for path in segment_folder.iterdir():
        _sync(path)
    return replace(_read_segment(folder, file), alive=segment.alive)


def _to_json(value: Value | None) -> Any:
    if isinstance(value, Several):
        return list(value.values)
    return value


def _from_json(stored: Any) -> Value | None:
    value: Value | None = stored
    if isinstance(stored, list):
        value = Several(stored)
    return value


def _sync(path: Path) -> None:
    """Wait until the disk has the file: after a power cut it could have another content
    of this length.
    """
    with path.open("r+b") as file:
        os.fsync(file.fileno())


def _read_segment(folder: Path, file: str) -> Segment:
    """Return a segment whose arrays are mapped; all its rows count as alive."""
    segment_folder = folder / file
    header = json.loads((segment_folder / HEADER).read_bytes())
    arrays = {
        path.stem: np.asarray(np.load(path, mmap_mode="r"))
        for path in segment_folder.glob("*.npy")
    }
    columns: dict[str, Column] = {}
    for number, (name, stored) in enumerate(header["columns"].items()):
        values = tuple(_from_json(value) for value in stored)
        columns[name] = Column(values, arrays[f"column_{number}"])
    rows = Rows(
        documents=Column(tuple(header["documents"]), arrays["documents"]),
        values=columns,
        **{name: arrays[name] for name in ARRAYS},
    )
    clusters = None
    if header["share"]:
        index = faiss.deserialize_index(np.array(arrays["clusters"]))
        clusters = Clusters(index, header["share"])
    short = ShortVectors.of(arrays)
    whole = None
    if short is not None and hasattr(os, "pread"):  # on Windows they are mapped
        whole = WholeVectors(segment_folder / "vectors.npy")
    return Segment(
        rows=rows,
        by_id=arrays["by_id"],
        postings=Postings(*(arrays[name] for name in POSTINGS)),
        alive=np.ones(len(rows.ids), dtype=np.bool_),
        clusters=clusters,
        unclustered=header["unclustered"],
        file=file,
        short=short,
        stored=whole,
    )

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

from ...domain.scope import Several, each_value
from ..keywords import Postings
from .index import ChunkIndex, Segment
from .rows import ARRAYS, Column, Rows
from .vectors import Clusters, ShortVectors, WholeVectors, faiss

log = logging.getLogger(__name__)
FORMAT = 10
CURRENT, HEADER = "current.json", "header.json"
NUMBERS = ("position", "marker", "passages", "in_place")
"""The fields of `Snapshot` that the header repeats."""
POSTINGS = ("starts", "rows", "counts")
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
def only_one(folder: Path) -> Iterator[None]:
    """Let one process at a time build the index of this folder; the system releases the
    lock of one that dies. Without effect where files cannot be locked: on Windows,
    where one process serves, or on a read-only disk.
    """
    with ExitStack() as stack:
        if sys.platform != "win32":
            import fcntl  # not on Windows

            try:
                folder.parent.mkdir(parents=True, exist_ok=True)
                file = stack.enter_context(folder.with_suffix(".lock").open("a"))
                fcntl.flock(file, fcntl.LOCK_EX)
            except OSError as error:
                log.info(
                    (
                        "%s cannot be locked (%s): several processes may build the "
                        "same index."
                    ),
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
    segments = tuple(
        segment if segment.file else _written(folder, segment)
        for segment in snapshot.index.segments
    )
    header = {
        "key": [FORMAT, *key],
        **{name: getattr(snapshot, name) for name in NUMBERS},
    }
    alive = {
        segment.file: base64.b64encode(np.packbits(segment.alive).tobytes()).decode()
        for segment in segments
    }
    header |= {"vocabulary": list(snapshot.index.vocabulary), "segments": alive}
    temporary = folder / f"{CURRENT}.{uuid.uuid4().hex}.tmp"
    temporary.write_text(json.dumps(header), "utf-8")
    _sync(temporary)
    temporary.replace(folder / CURRENT)
    for path in folder.iterdir():
        if (
            path.name not in {CURRENT, *alive}
            and time.time() - path.stat().st_mtime > STRAY_SECONDS
        ):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(
                missing_ok=True
            )
    folder.with_suffix(".npz").unlink(missing_ok=True)  # of an older version
    return segments


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
        RuntimeError,
    ) as error:  # RuntimeError: FAISS's
        log.warning(
            (
                "The index snapshot %s cannot be read (%s): the index is built from "
                "the database."
            ),
            folder,
            error,
        )
        return None
    vocabulary = {term: number for number, term in enumerate(header["vocabulary"])}
    return Snapshot(
        ChunkIndex(tuple(segments), vocabulary),
        **{name: header[name] for name in NUMBERS},
    )


def _written(folder: Path, segment: Segment) -> Segment:
    file, rows, clusters = uuid.uuid4().hex, segment.rows, segment.clusters
    place = folder / file
    place.mkdir()
    arrays: dict[str, NDArray[Any]] = {
        **{name: getattr(rows, name) for name in ARRAYS},
        **{name: getattr(segment.postings, name) for name in POSTINGS},
        "documents": rows.documents.codes,
        "by_id": segment.by_id,
        **{
            f"column_{number}": column.codes
            for number, column in enumerate(rows.values.values())
        },
    }
    if clusters:
        arrays["clusters"] = faiss.serialize_index(clusters.index)
    for name, array in arrays.items():
        np.save(place / f"{name}.npy", array)
    if clusters and rows.vectors.nbytes >= LARGE_BYTES:
        ShortVectors.write(rows.vectors, place)
    header = {
        "documents": rows.documents.values,
        "columns": {
            name: [
                list(each_value(value)) if isinstance(value, Several) else value
                for value in column.values
            ]
            for name, column in rows.values.items()
        },
        "share": clusters.share if clusters else 0,
        "unclustered": segment.unclustered,
    }
    (place / HEADER).write_text(json.dumps(header), "utf-8")
    for path in place.iterdir():
        _sync(path)
    return replace(_read_segment(folder, file), alive=segment.alive)


def _sync(path: Path) -> None:
    """Wait until the disk has the file: after a power cut it could have another content
    of this length.
    """
    with path.open("r+b") as file:
        os.fsync(file.fileno())


def _read_segment(folder: Path, file: str) -> Segment:
    place = folder / file
    header = json.loads((place / HEADER).read_bytes())
    arrays = {
        path.stem: np.asarray(np.load(path, mmap_mode="r"))
        for path in place.glob("*.npy")
    }
    columns = {
        name: Column(
            tuple(
                Several(value) if isinstance(value, list) else value for value in values
            ),
            arrays[f"column_{number}"],
        )
        for number, (name, values) in enumerate(header["columns"].items())
    }
    documents = Column(tuple(header["documents"]), arrays["documents"])
    rows = Rows(
        documents=documents, values=columns, **{name: arrays[name] for name in ARRAYS}
    )
    short = ShortVectors.of(arrays)
    may_read = short is not None and hasattr(os, "pread")  # on Windows they are mapped
    return Segment(
        rows,
        arrays["by_id"],
        Postings(*(arrays[name] for name in POSTINGS)),
        np.ones(len(rows.ids), dtype=np.bool_),
        Clusters(faiss.deserialize_index(np.array(arrays["clusters"])), header["share"])
        if header["share"]
        else None,
        header["unclustered"],
        file,
        short,
        WholeVectors(place / "vectors.npy") if may_read else None,
    )

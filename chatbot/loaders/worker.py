"""The process that reads foreign formats (`isolation.IsolatedLoader` starts it): a line of JSON in, a line out.

The libraries in it trust files that strangers made. If this process fails, the server goes on.
"""

from __future__ import annotations

import io
import json
import logging
import os
import queue
import sys
import threading
from dataclasses import fields
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import ChatbotError, ReaderFailedError
from ..schema import Loaded, Section
from . import LOADERS
from .formats import read_file

MAX_MEMORY = 2 * 1024**3
"""Bytes of address space, shared libraries included."""
SECONDS, SECONDS_PER_MB = 20, 60
"""Seconds of processor time for one file. A PDF page of 20 kB takes up to .25."""
MAX_LOADED = 64 * 1024**2
"""The size of one file's text in memory: its characters, and `SECTION_COST` for each section."""
SECTION_COST = 250


def main() -> None:
    answers = _private_stdout()
    _limit_memory()
    # Libraries log each flaw of a file. The serious ones arrive as errors.
    logging.disable(logging.CRITICAL)
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    while True:
        request = json.loads(requests.get())
        _limit_time(Path(request["path"]))
        answer = _load(Path(request["path"]), request["format"])
        if "out_of_memory" in answer or _is_worn():
            answer["last"] = True
        _answer(answers, answer)
        if "last" in answer:
            return


def _load(path: Path, name: str) -> dict[str, Any]:
    try:
        loaded = read_file(LOADERS.builder(name)(), path)
        size = sum(SECTION_COST + len(section.text) + sum(map(len, section.path)) for section in loaded.sections)
        return {"too_large": True} if size > MAX_LOADED else {"loaded": encode(loaded)}
    except ReaderFailedError as error:
        return {"failed": error.message}
    except ChatbotError as error:
        # A library that reports any failure as damage reports a lack of memory as damage too.
        return {"out_of_memory": True} if isinstance(error.__cause__, MemoryError) else {"error": error.message}
    except MemoryError:
        return {"out_of_memory": True}


def _is_worn() -> bool:
    """Whether the next file might not get enough memory: the heap hardly shrinks."""
    if sys.platform != "linux":
        return False
    # Not ru_maxrss: a child inherits the peak of its parent, the server.
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    peak = next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")), 0)
    return peak * 1024 > MAX_MEMORY // 4


def encode(loaded: Loaded) -> dict[str, Any]:
    return {**_values(loaded), "sections": [list(_values(section).values()) for section in loaded.sections]}


def _values(record: Loaded | Section) -> dict[str, Any]:
    return {each.name: getattr(record, each.name) for each in fields(record)} | {"metadata": dict(record.metadata)}


def decode(answer: dict[str, Any]) -> Loaded:
    sections = tuple(Section(tuple(path), *rest) for path, *rest in answer["sections"])
    lists = {name: tuple(value) for name, value in answer.items() if isinstance(value, list)}
    return Loaded(**{**answer, **lists, "sections": sections})


def _answer(answers: BinaryIO, answer: dict[str, Any]) -> None:
    # Half a surrogate pair, as in a damaged file, can be neither sent nor stored.
    answers.write(json.dumps(answer, ensure_ascii=False).encode(errors="replace") + b"\n")
    answers.flush()


def _listen(requests: queue.SimpleQueue[bytes]) -> None:
    """Pass requests on. Exit at once when the server is gone, even while reading a file."""
    # Unbuffered: a thread that waits in a buffered read makes the interpreter abort on exit.
    for line in io.FileIO(0, closefd=False):
        requests.put(line)
    os._exit(0)


def _private_stdout() -> BinaryIO:
    """Return a stream for answers; anything that a library prints goes to the server's stderr instead."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def _limit_memory() -> None:
    if sys.platform != "linux":  # elsewhere the limit is missing, refused or ignored
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = MAX_MEMORY if hard == resource.RLIM_INFINITY else min(MAX_MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def _limit_time(path: Path) -> None:
    """Limit this process's time from now on. The system ends it, as no library would stop."""
    if sys.platform != "linux":
        return
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    size = path.stat().st_size if path.exists() else 0
    more = SECONDS + SECONDS_PER_MB * size / 1024**2
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime + more) + 1, hard))


if __name__ == "__main__":
    main()

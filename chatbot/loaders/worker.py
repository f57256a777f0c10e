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
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from ..errors import ChatbotError, LoadError, ReaderFailedError
from ..schema import Loaded
from . import LOADERS
from .formats import read_file

if sys.platform == "linux":  # elsewhere the limits are missing, refused or ignored
    import resource

LOADED = TypeAdapter(Loaded)
MAX_MEMORY = 2 * 1024**3
"""Bytes of address space, shared libraries included."""
SECONDS, SECONDS_PER_MB = 20, 60
"""Seconds of processor time for one file. A PDF page of 20 kB takes up to .25."""
MAX_LOADED = 64 * 1024**2
"""The size of one file's text in memory: its characters, and `SECTION_COST` for each section."""
SECTION_COST = 250
MEMORY = "memory to be read than is allowed"


def main() -> None:
    # Answers have a stream of their own; anything that a library prints goes to the server's stderr instead.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if sys.platform == "linux":
        _limit(resource.RLIMIT_AS, MAX_MEMORY)
    # Libraries log each flaw of a file. The serious ones arrive as errors.
    logging.disable(logging.CRITICAL)
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    last = False
    while not last:
        request = json.loads(requests.get())
        path = Path(request["path"])
        if sys.platform == "linux":
            # From now on. The system ends the process, as no library would stop.
            used, size = resource.getrusage(resource.RUSAGE_SELF), path.stat().st_size if path.exists() else 0
            seconds = used.ru_utime + used.ru_stime + SECONDS + SECONDS_PER_MB * size / 1024**2
            _limit(resource.RLIMIT_CPU, int(seconds) + 1)
        try:
            answer = _load(path, request["format"])
            last = _is_worn()
        except MemoryError:
            answer, last = {"error": needs_more(path, MEMORY).message}, True
        # Half a surrogate pair, as in a damaged file, can be neither sent nor stored.
        line = json.dumps(answer | {"last": last}, ensure_ascii=False).encode(errors="replace")
        answers.write(line + b"\n")
        answers.flush()


def _load(path: Path, name: str) -> dict[str, Any]:
    try:
        loaded = read_file(LOADERS.builder(name)(), path)
        size = sum(SECTION_COST + len(section.text) + sum(map(len, section.path)) for section in loaded.sections)
        if size > MAX_LOADED:
            limit = f"{MAX_LOADED // 1024**2} million characters"
            raise LoadError(f"{path.name} has more text than the limit for one file ({limit}). Split it and try again.")
        return {"loaded": LOADED.dump_python(loaded)}
    except ChatbotError as error:
        if isinstance(error.__cause__, MemoryError):  # a library that reports any failure as damage
            raise error.__cause__ from error
        return {"failed" if isinstance(error, ReaderFailedError) else "error": error.message}


def needs_more(path: Path, limit: str) -> LoadError:
    """Return the error for a file that exceeds a ``limit``, such as `MEMORY`."""
    advice = "Save it in parts or in another format, and try again."
    return LoadError(f"{path.name} needs more {limit}. {advice}")


def _is_worn() -> bool:
    """Whether the next file might not get enough memory: the heap hardly shrinks."""
    if sys.platform != "linux":
        return False
    # Not ru_maxrss: a child inherits the peak of its parent, the server.
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    peak = next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")), 0)
    return peak * 1024 > MAX_MEMORY // 4


def _limit(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def _listen(requests: queue.SimpleQueue[bytes]) -> None:
    """Pass requests on. Exit at once when the server is gone, even while reading a file."""
    # Unbuffered: a thread that waits in a buffered read makes the interpreter abort on exit.
    for line in io.FileIO(0, closefd=False):
        requests.put(line)
    os._exit(0)


if __name__ == "__main__":
    main()

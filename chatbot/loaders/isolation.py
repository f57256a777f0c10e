"""Read foreign formats in processes of their own: a hostile PDF can neither kill the server nor fill its memory."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from pathlib import Path

from ..cancellation import Cancellation
from ..errors import CancelledError, ChatbotError, LoadError, ReaderFailedError, StoppedError
from ..schema import Loaded
from . import all_loaders, detect
from .formats import read_file, reader_failed
from .worker import LOADED, MEMORY, needs_more

TIME_LIMIT = 300.0
"""Seconds for one file. A page of a PDF takes .05 to .25 on a busy machine of two cores."""
WORKER = "chatbot.loaders.worker"
IN_PROCESS_BYTES = 8 * 1024
"""Larger files go to the child in any format: only there can a file that takes too long be stopped."""
_POLL_SECONDS = 0.1


class IsolatedLoader:
    """Reads files in a child, one at a time. Usable again after `close`."""

    def __init__(self, *, time_limit: float, worker: str) -> None:
        self._time_limit = time_limit
        self._worker = worker
        self._turn = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._watch: _Watch | None = None

    def read(self, path: Path, name: str, cancel: Cancellation) -> Loaded:
        """Read the file with the loader of this ``name``. Raises as `LoaderPool.load` does."""
        with self._turn:
            return self._ask(path, name, cancel)

    def close(self) -> None:
        """End the child. A file that is being read is abandoned."""
        if watch := self._watch:
            watch.stop("closed")
        with self._turn:
            self._discard()

    def _ask(self, path: Path, name: str, cancel: Cancellation) -> Loaded:
        if self._child is not None and self._child.poll() is not None:
            self._discard()
        used = self._child is not None  # for other files before
        child = self._child = self._child or _start(self._worker)
        watch = self._watch = _Watch(child)
        timer = threading.Timer(self._time_limit, watch.stop, ("time",))
        timer.daemon = True
        timer.start()
        cancel.on_cancel(lambda: watch.stop("cancelled"))
        try:
            line = _exchange(child, json.dumps({"path": str(path.absolute()), "format": name}))
        except BaseException:  # a keyboard interrupt: its answer would be taken for that of the next file
            self._discard()
            raise
        finally:
            timer.cancel()
            reason = watch.finish()
        ended = not (reason or line.endswith(b"\n"))  # before its answer was complete
        if ended:
            with contextlib.suppress(subprocess.TimeoutExpired):  # its own exit status says more than that of a kill
                child.wait(timeout=5)
        answer = {} if ended or reason else json.loads(line)
        if answer.get("last", True):
            self._discard()
        if ended and used:
            return self._ask(path, name, cancel)  # it may have died before this file: try a new one
        if not answer:
            raise self._failure(path, reason, child.returncode)
        if "failed" in answer:
            raise ReaderFailedError(answer["failed"])
        if "error" in answer:
            raise LoadError(answer["error"])
        return LOADED.validate_python(answer["loaded"])

    def _failure(self, path: Path, reason: str, status: int) -> ChatbotError:
        if reason == "cancelled":
            return _cancelled(path)
        if reason == "closed":
            return StoppedError(f"{path.name} was not read: the server is shutting down.")
        if reason == "time":
            return needs_more(path, f"than {self._time_limit:g} s to be read")
        if status == -getattr(signal, "SIGXCPU", 0):
            return needs_more(path, "processor time to be read than a file of its size may")
        # Linux kills the largest process with signal 9 when the machine's memory runs out.
        if status == -9:
            return needs_more(path, MEMORY)
        return reader_failed(path, f"its process ended with status {status}")

    def _discard(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            for pipe in (self._child.stdin, self._child.stdout):
                with contextlib.suppress(BrokenPipeError):  # a request that it did not read
                    pipe.close()  # type: ignore[union-attr]  # both are pipes
            self._child = None


class LoaderPool:
    """``count`` of them: up to that many files are read at a time, so a slow one does not delay the others."""

    def __init__(self, count: int, *, time_limit: float = TIME_LIMIT, worker: str = WORKER) -> None:
        """``time_limit``: seconds for one file; ``worker``: the module that runs in the children."""
        self._all = [IsolatedLoader(time_limit=time_limit, worker=worker) for _ in range(count)]
        self._idle: queue.LifoQueue[IsolatedLoader] = queue.LifoQueue()
        for loader in self._all:
            self._idle.put(loader)

    def load(self, path: Path, *, cancel: Cancellation | None = None) -> Loaded:
        """Read the file. Ends within a second once ``cancel`` is set. Small texts need no child and never wait.

        Raises:
            LoadError: as the loaders raise it, or the file needs too much time or memory.
            ReaderFailedError: the reader failed on the file, or its process ended.
            CancelledError: ``cancel`` was set. StoppedError: `close` was called.
        """
        cancel = cancel or Cancellation()
        name = detect(path)
        reader = all_loaders()[name]
        if not reader.isolated and path.stat().st_size <= IN_PROCESS_BYTES:
            return read_file(reader, path)
        while True:
            try:
                loader = self._idle.get(timeout=_POLL_SECONDS)
                break
            except queue.Empty:
                if cancel.cancelled:
                    raise _cancelled(path) from None
        try:
            return loader.read(path, name, cancel)
        finally:
            self._idle.put(loader)

    def close(self) -> None:
        """End the children. Files that are being read are abandoned."""
        for loader in self._all:
            loader.close()


class _Watch:
    """Ends the child for one request and remembers why. Has no effect once the request is finished."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self._child: subprocess.Popen[bytes] | None = child
        self._lock = threading.Lock()
        self._reason = ""

    def stop(self, reason: str) -> None:
        with self._lock:
            if self._child is not None and not self._reason:
                self._reason = reason
                self._child.kill()

    def finish(self) -> str:
        with self._lock:
            self._child = None
            return self._reason


def _start(worker: str) -> subprocess.Popen[bytes]:
    root = str(Path(__file__).parents[2])
    # None of the server's variables, which include its keys. One BLAS thread: each takes address space.
    environment = {
        "PATH": os.defpath,
        "PYTHONPATH": os.pathsep.join([root, *filter(None, sys.path)]),
        "PYTHONUTF8": "1",
        "LC_ALL": "C.UTF-8",
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = [sys.executable, "-P", "-W", "ignore", "-m", worker]
    # A session of its own: Ctrl-C only reaches the server, which then ends the child.
    return subprocess.Popen(  # noqa: S603
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
    )


def _exchange(child: subprocess.Popen[bytes], request: str) -> bytes:
    """Return the answer, a line; without an end if the child ended before it was complete."""
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(request.encode() + b"\n")
        child.stdin.flush()
    except BrokenPipeError:
        return b""
    return child.stdout.readline()


def _cancelled(path: Path) -> CancelledError:
    return CancelledError(f"{path.name} was not read: it was cancelled.")

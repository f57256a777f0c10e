"""Read foreign formats in processes of their own: a hostile PDF can neither kill the
server nor fill its memory. A child runs `main`: a line of JSON in, a line out. The
libraries in it trust files that strangers made.
"""

import contextlib
import io
import json
import logging
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import accumulate, count, groupby
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter

from ...domain import Cancellation, Loaded, Section
from ...domain.cancellation import heartbeat
from ...domain.errors import (
    CancelledError,
    ChatbotError,
    LoadError,
    ReaderFailedError,
    StoppedError,
)
from ...domain.tables import Stated, Table, TableRows
from ...language.country_names import keys_in
from ...language.reported_figures import figure_years, stated
from . import LOADERS, PictureLoader, all_loaders, detect, read_file, reader_failed
from .ocr import Ocr

log = logging.getLogger(__name__)
TIME_LIMIT = 300.0
"""Seconds for one file. A page of a PDF takes .05 to .25 on a busy machine of two
cores.
"""
WORKER = "chatbot.library.loaders.isolation"
IN_PROCESS_BYTES = 8 * 1024
"""Larger files go to the child in any format: only there can a file that takes too long
be stopped.
"""
_POLL_SECONDS = 0.1
_BEGUN, _PAGE = b"begun\n", b"page "
MAX_LOADED = 64 * 1024**2
"""The size of one file's text in memory: its characters, and `SECTION_COST` for each
section.
"""
SECTION_COST = 250
MEMORY = "memory to be read than is allowed"
LOADED = TypeAdapter(Loaded)
TABLE = TypeAdapter(Table)
TEXT_READERS: dict[str, tuple[Callable[[str], Any], TypeAdapter[list[Any]]]] = {
    "figure_years": (figure_years, TypeAdapter(list[tuple[int, ...]])),
    "keys_in": (keys_in, TypeAdapter(list[frozenset[str]])),
    "stated": (stated, TypeAdapter(list[list[Stated]])),
}
MAX_TEXTS_HERE, TEXTS_AT_ONCE = 128_000, 256_000
"""Characters: of the texts of a file that are read in this process, and of those that a
child gets at a time.
"""


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """The limits of one file: bytes of address space, shared libraries included, and
    seconds of processor time.
    """

    memory: int
    seconds: int
    seconds_per_mb: int = 0
    ocr_pages: int = 0
    """Pictures of text that are read. Each adds `OCR_SECONDS` of processor time, and
    the time limit begins again.
    """


OCR_SECONDS = 60
UPLOAD_LIMITS = ReadingLimits(1024**3, 20, 60)
"""A PDF page of 20 kB takes up to .25 s."""
ATTACHMENT_LIMITS = ReadingLimits(512 * 1024**2, 10)
"""Attachments may come from strangers, and somebody waits for the answer."""


class IsolatedLoader:
    """Reads files in a child, one at a time. Usable again after `close`."""

    def __init__(
        self, *, time_limit: float, worker: str, limits: ReadingLimits
    ) -> None:
        self._time_limit = time_limit
        self._worker = worker
        self._limits = limits
        self._turn = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._closed = threading.Event()

    def read(
        self,
        path: Path,
        name: str,
        cancel: Cancellation,
        on_page: Callable[[int, int], None],
    ) -> Any:
        """Return what the loader or text reader of this ``name`` reads, as JSON. Raises
        as `LoaderPool.load` does.
        """
        with self._turn:
            if cancel.cancelled:
                raise _cancelled(path)
            self._closed.clear()
            answer = self._ask(path, name, cancel, on_page)
        if "failed" in answer:
            raise ReaderFailedError(answer["failed"])
        if "error" in answer:
            raise LoadError(answer["error"])
        return answer["loaded"]

    def close(self) -> None:
        """End the child. A file that is being read is abandoned."""
        self._closed.set()
        with self._turn:
            self._discard()

    def _ask(
        self,
        path: Path,
        name: str,
        cancel: Cancellation,
        on_page: Callable[[int, int], None],
    ) -> dict[str, Any]:
        if self._child is not None and self._child.poll() is not None:
            self._discard()
        used = self._child is not None  # for other files before
        child = self._child = self._child or _start(self._worker, self._limits)
        end = time.monotonic() + self._time_limit
        error = cast("ChatbotError | None", None)

        def watch() -> bool:
            """End the child when it may not go on."""
            nonlocal error
            error = self._why_to_end(path, cancel, end)
            if error is not None:
                _kill(child)
            return error is None

        def next_page(page: int, pages: int) -> None:
            nonlocal end
            if not pages:
                end = time.monotonic() + self._time_limit
            on_page(page, pages)

        try:
            with heartbeat("reader-watch", lambda: _POLL_SECONDS, watch):
                request = json.dumps({"path": str(path.absolute()), "format": name})
                has_started, line = _exchange(child, request, next_page)
        except BaseException:
            # A keyboard interrupt: its answer would be taken for that of the next file.
            self._discard()
            raise
        if line.endswith(b"\n") and not error:
            answer: dict[str, Any] = json.loads(line)
            if answer.get("last", True):
                self._discard()
            return answer
        if not error:
            # Its own exit status says more than that of a kill.
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout=5)
        self._discard()
        if error:
            raise error
        if not has_started and used:
            # It died before this file: try a new one.
            return self._ask(path, name, cancel, on_page)
        raise _ended(path, child.returncode)

    def _why_to_end(
        self, path: Path, cancel: Cancellation, end: float
    ) -> ChatbotError | None:
        """Return why the child may not go on with a file; ``end``: by the clock of
        `time.monotonic`.
        """
        if self._closed.is_set():
            return StoppedError(
                f"{path.name} was not read: the server is shutting down."
            )
        if cancel.cancelled:
            return _cancelled(path)
        if time.monotonic() > end:
            return needs_more(path, f"than {self._time_limit:g} s to be read")
        return None

    def _discard(self) -> None:
        if self._child is not None:
            _kill(self._child)
            # closes the pipes, and ignores a request that it did not read
            self._child.communicate()
            self._child = None


class LoaderPool:
    """Reads up to ``readers`` files at a time in all processes that share ``folder``;
    callers take turns. So a slow file does not delay the others, and the memory of
    readers is bounded for the machine.
    """

    def __init__(
        self,
        readers: int,
        *,
        time_limit: float = TIME_LIMIT,
        worker: str = WORKER,
        limits: ReadingLimits = UPLOAD_LIMITS,
        folder: Path | None = None,
    ) -> None:
        """``time_limit``: seconds for one file; ``worker``: the module that runs in the
        children. ``folder``: holds the locks; None = no other process has readers.
        """
        self._all = [
            IsolatedLoader(time_limit=time_limit, worker=worker, limits=limits)
            for _ in range(readers)
        ]
        self._folder = folder
        self._idle = list(self._all)
        self._waiting: dict[int, str] = {}
        """Callers by the number of their turn."""
        self._turns_taken = Counter[str]()
        """Counts of callers that wait or read at the moment."""
        self._numbers = count()
        self._changed = threading.Condition()

    def load(
        self,
        path: Path,
        *,
        cancel: Cancellation | None = None,
        caller: str = "",
        on_page: Callable[[int, int], None] = lambda page, pages: None,
    ) -> Loaded:
        """Read the file. Ends within a second once ``cancel`` is set. Small texts need
        no child and never wait. ``on_page`` is called with the number of pages that
        were read and of all; with that of a page and 0 before OCR reads it.

        Raises: LoadError: as the loaders raise it, or the file needs too much time or
            memory. ReaderFailedError: the reader failed on the file, or its process
            ended. CancelledError: ``cancel`` was set. StoppedError: `close` was called.
        """
        cancel = cancel or Cancellation()
        name = detect(path)
        reader = all_loaders()[name]
        is_small = path.stat().st_size <= IN_PROCESS_BYTES
        # Markdown may have HTML in it, which a foreign library reads.
        if not reader.isolated and is_small and b"<" not in path.read_bytes():
            return read_file(reader, path)
        with self._turn(path, caller, cancel) as loader, self._lock(path, cancel):
            return _unpacked(loader.read(path, name, cancel, on_page))

    def read_texts(
        self,
        read: Callable[[str], Any],
        texts: Sequence[str],
        name: str,
        cancel: Cancellation | None = None,
    ) -> Iterator[Any]:
        """Yield what ``read``, one of `TEXT_READERS`, returns for each text of the file
        ``name``. Many are read in a child: threads of this process answer questions
        meanwhile. Raises as `load`.
        """
        if sum(map(len, texts)) <= MAX_TEXTS_HERE:
            yield from map(read, texts)
            return
        cancel = cancel or Cancellation()
        sizes = accumulate(map(len, texts))
        for _, portion in groupby(texts, lambda text: next(sizes) // TEXTS_AT_ONCE):
            with tempfile.TemporaryDirectory(prefix="report-chat-") as folder:
                path = Path(folder) / f"Text of {Path(name).name}"
                path.write_text(json.dumps(list(portion)), "utf-8")
                with self._turn(path, "", cancel) as loader, self._lock(path, cancel):
                    answer = loader.read(
                        path, read.__name__, cancel, lambda page, pages: None
                    )
            yield from TEXT_READERS[read.__name__][1].validate_python(answer)

    @contextlib.contextmanager
    def _turn(
        self, path: Path, caller: str, cancel: Cancellation
    ) -> Iterator[IsolatedLoader]:
        """Wait for a reader. The caller with the fewest turns so far is next, then the
        one who came first.
        """
        number = next(self._numbers)

        def is_next() -> bool:
            return number == min(
                self._waiting,
                key=lambda each: (self._turns_taken[self._waiting[each]], each),
            )

        with self._changed:
            self._waiting[number] = caller
            try:
                while not (self._idle and is_next()):
                    if cancel.cancelled:
                        raise _cancelled(path)
                    self._changed.wait(_POLL_SECONDS)
                loader = self._idle.pop()
                self._turns_taken[caller] += 1
            finally:
                del self._waiting[number]
                self._changed.notify_all()
        try:
            yield loader
        finally:
            with self._changed:
                self._idle.append(loader)
                if caller not in self._waiting.values():
                    del self._turns_taken[caller]
                self._changed.notify_all()

    @contextlib.contextmanager
    def _lock(self, path: Path, cancel: Cancellation) -> Iterator[None]:
        """Hold one lock of as many as there are readers; the system releases those of a
        process that dies.
        """
        if self._folder is None or sys.platform == "win32":  # where one process serves
            yield
            return
        import fcntl  # not on Windows

        with contextlib.ExitStack() as stack:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                places = range(len(self._all))
                files = [
                    stack.enter_context((self._folder / f"{place}.lock").open("a"))
                    for place in places
                ]
            except OSError as error:
                log.info(
                    "%s cannot be locked (%s): each process has its own readers.",
                    self._folder,
                    error,
                )
                files = []
            while files:
                for file in files:
                    with contextlib.suppress(BlockingIOError):
                        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        files = []
                        break
                else:
                    if cancel.wait(_POLL_SECONDS):
                        raise _cancelled(path)
            yield

    def close(self) -> None:
        """End the children. Files that are being read are abandoned."""
        for loader in self._all:
            loader.close()


def _kill(child: subprocess.Popen[bytes]) -> None:
    """End a child and the programs that it started."""
    child.kill()
    with contextlib.suppress(
        ProcessLookupError, AttributeError
    ):  # they ended before; Windows has no groups
        os.killpg(child.pid, signal.SIGKILL)


def _start(worker: str, limits: ReadingLimits) -> subprocess.Popen[bytes]:
    # None of the server's variables, which include its keys. One BLAS thread: each
    # takes address space.
    environment = {
        "PATH": os.pathsep.join([os.defpath, "/usr/local/bin"]),
        "PYTHONPATH": os.pathsep.join(
            [str(Path(__file__).parents[3]), *filter(None, sys.path)]
        ),
        "PYTHONUTF8": "1",
        "LC_ALL": "C.UTF-8",
        "OPENBLAS_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "1",  # as does each arena of the allocator
    }
    command = [
        sys.executable,
        "-P",
        "-W",
        "ignore",
        "-m",
        worker,
        *map(str, astuple(limits)),
    ]
    # A session of its own: Ctrl-C only reaches the server, which then ends the child.
    return subprocess.Popen(  # noqa: S603
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )


def _exchange(
    child: subprocess.Popen[bytes], request: str, on_page: Callable[[int, int], None]
) -> tuple[bool, bytes]:
    """Return whether the child began with the file, and its answer: a line, without an
    end if it is not complete. ``on_page`` as in `LoaderPool.load`.
    """
    assert child.stdin
    assert child.stdout
    try:
        child.stdin.write(request.encode() + b"\n")
        child.stdin.flush()
    except BrokenPipeError:
        return False, b""
    has_started = child.stdout.readline() == _BEGUN
    while (line := child.stdout.readline()).startswith(_PAGE):
        on_page(*map(int, line.removeprefix(_PAGE).split()))
    return has_started, line


def _ended(path: Path, status: int) -> ChatbotError:
    """Return what the exit status of a child says about the file it was reading."""
    if status == -9:
        # Linux kills the largest process with it when the machine's memory runs out.
        return needs_more(path, MEMORY)
    if status == -getattr(signal, "SIGXCPU", 0):
        return needs_more(path, "processor time to be read than a file of its size may")
    return reader_failed(path, f"its process ended with status {status}")


def _cancelled(path: Path) -> CancelledError:
    return CancelledError(f"{path.name} was not read: it was cancelled.")


def main() -> None:
    # Answers have a stream of their own; anything that a library prints goes to the
    # server's stderr instead.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    limits = ReadingLimits(*map(int, sys.argv[1:]))
    _limit("RLIMIT_AS", limits.memory)
    if sys.platform == "linux":
        # Questions go first where processors are scarce.
        os.nice(10)
    # Libraries log each flaw of a file. The serious ones arrive as errors.
    logging.disable(logging.CRITICAL)
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    last = False
    while not last:
        request = json.loads(requests.get())
        path = Path(request["path"])
        # From now on. The system ends the process, as no library would stop.
        size = path.stat().st_size if path.exists() else 0
        end = (
            time.process_time()
            + limits.seconds
            + limits.seconds_per_mb * size / 1024**2
        )
        _limit("RLIMIT_CPU", int(end) + 1)
        answers.write(_BEGUN)
        answers.flush()

        def note_page(page: int, pages: int) -> None:
            answers.write(b"%b%d %d\n" % (_PAGE, page, pages))
            answers.flush()

        def begin_page(page: int) -> None:
            nonlocal end
            end += OCR_SECONDS
            _limit("RLIMIT_CPU", int(end) + 1)
            note_page(page, 0)

        try:
            answer = _load(
                path, request["format"], Ocr(limits.ocr_pages, begin_page, note_page)
            )
            last = _is_worn(limits.memory)
        except MemoryError:
            answer = {"error": needs_more(path, MEMORY).message}
            last = True
        # Half a surrogate pair, as in a damaged file, can be neither sent nor stored.
        line = json.dumps(answer | {"last": last}, ensure_ascii=False).encode(
            errors="replace"
        )
        answers.write(line + b"\n")
        answers.flush()


def _load(path: Path, name: str, ocr: Ocr) -> dict[str, Any]:
    if name in TEXT_READERS:
        read, results = TEXT_READERS[name]
        return {
            "loaded": results.dump_python(
                [read(text) for text in json.loads(path.read_bytes())], mode="json"
            )
        }
    try:
        loader = LOADERS.builder(name)()
        if isinstance(loader, PictureLoader):
            loader.ocr = ocr
        loaded = read_file(loader, path)
        size = sum(
            SECTION_COST + len(section.text) + sum(map(len, section.path))
            for section in loaded.sections
        )
        if size > MAX_LOADED:
            limit = f"{MAX_LOADED // 1024**2} million characters"
            raise LoadError(
                f"{path.name} has more text than the limit for one file ({limit}). "
                "Split it and try again."
            )
        return {"loaded": _packed(loaded)}
    except ChatbotError as error:
        if isinstance(
            error.__cause__, MemoryError
        ):  # a library that reports any failure as damage
            raise error.__cause__ from error
        return {
            "failed" if isinstance(error, ReaderFailedError) else "error": error.message
        }


def _packed(loaded: Loaded) -> dict[str, Any]:
    """Return a file as JSON, each table once however many sections show its rows."""
    tables: dict[int, int] = {}
    packed_tables: list[Any] = []
    shown: list[list[Any] | None] = []
    sections: list[Section] = []
    for section in loaded.sections:
        sections.append(replace(section, rows=None))
        rows = section.rows
        if rows is None:
            shown.append(None)
            continue
        key = id(rows.table)
        if key not in tables:
            tables[key] = len(tables)
            packed_tables.append(TABLE.dump_python(rows.table))
        shown.append([tables[key], rows.start, rows.stop, rows.head])
    plain = replace(loaded, sections=tuple(sections))
    return {
        "loaded": LOADED.dump_python(plain),
        "tables": packed_tables,
        "shown": shown,
    }


def _unpacked(packed: dict[str, Any]) -> Loaded:
    """Return what `_packed` was given."""
    loaded = LOADED.validate_python(packed["loaded"])
    tables = [TABLE.validate_python(table) for table in packed["tables"]]
    sections: list[Section] = []
    for section, shown in zip(loaded.sections, packed["shown"], strict=True):
        if shown is None:
            sections.append(section)
            continue
        table, start, stop, head = shown
        rows = TableRows(tables[table], start, stop, head)
        sections.append(replace(section, rows=rows))
    return replace(loaded, sections=tuple(sections))


def needs_more(path: Path, limit: str) -> LoadError:
    """Return the error for a file that exceeds a ``limit``, such as `MEMORY`."""
    return LoadError(
        f"{path.name} needs more {limit}. Save it in parts or in another format, "
        "and try again."
    )


def _is_worn(memory: int) -> bool:
    """Return whether the next file might not get enough memory: the heap hardly
    shrinks.
    """
    if sys.platform != "linux":
        return False
    # Not ru_maxrss: a child inherits the peak of its parent, the server.
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    peak = next(
        (
            int(line.split()[1])
            for line in status.splitlines()
            if line.startswith("VmHWM:")
        ),
        0,
    )
    return peak * 1024 > memory // 4


def _limit(kind: str, value: int) -> None:
    """Lower a limit of this process on Linux. Elsewhere it is missing, refused or
    ignored.
    """
    if sys.platform == "linux":
        import resource

        number = getattr(resource, kind)
        _, hard = resource.getrlimit(number)
        resource.setrlimit(
            number,
            (value if hard == resource.RLIM_INFINITY else min(value, hard), hard),
        )


def _listen(requests: queue.SimpleQueue[bytes]) -> None:
    """Pass requests on. Exit at once when the server is gone, even while reading a
    file.
    """
    # Unbuffered: a thread that waits in a buffered read makes the interpreter abort on
    # exit.
    for line in io.FileIO(0, closefd=False):
        requests.put(line)
    os._exit(0)


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:  # the server was killed
        os._exit(1)

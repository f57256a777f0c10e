"""The process that reads foreign formats: whatever happens there is an error here that
names the file.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from chatbot.domain import Cancellation, Loaded, Section
from chatbot.domain.errors import (
    CancelledError,
    LoadError,
    ReaderFailedError,
    StoppedError,
)
from chatbot.language.reported_figures import figure_years, stated
from chatbot.library.loaders import isolation
from chatbot.library.loaders.isolation import (
    IN_PROCESS_BYTES,
    LoaderPool,
    ReadingLimits,
)
from tests.data import cases

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="processes are looked up in /proc"
)

BAD = "tests.library.loaders.bad_worker"


@pytest.fixture(scope="module")
def loader() -> Iterator[LoaderPool]:
    """For all tests, as a child takes a second to start. A test that needs a new one
    closes it first.
    """
    loader = LoaderPool(1, time_limit=60, worker=BAD)
    yield loader
    loader.close()


@pytest.fixture
def page(tmp_path: Path) -> Callable[[str], Path]:
    """``page(deed)``: an HTML file that makes the bad worker do it."""

    def write(deed: str) -> Path:
        path = tmp_path / "a.html"
        path.write_text(f"<html>{deed}", encoding="utf-8")
        return path

    return write


Page = Callable[[str], Path]


def pid(loader: LoaderPool, page: Page) -> int:
    return int(loader.load(page("pid")).sections[0].text)


def alive(process: int) -> bool:
    """Whether it runs; one that has ended and that nobody has asked about (a zombie)
    does not.
    """
    try:
        return (
            Path(f"/proc/{process}/stat")
            .read_text(encoding="utf-8")
            .rpartition(")")[2]
            .split()[0]
            != "Z"
        )
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_document_and_its_pages_arrive_as_they_were_loaded(page: Page) -> None:
    pool, pages = (
        LoaderPool(1, worker=BAD, limits=ReadingLimits(1024**3, 20, ocr_pages=2)),
        list[tuple[int, int]](),
    )
    with closing(pool):
        loaded = pool.load(
            page("Hello, wörld"), on_page=lambda *page: pages.append(page)
        )
    assert pages == [(3, 0), (4, 0)]
    assert loaded == Loaded(
        "Hello, wörld",
        (Section(("Part",), "Hello, wörld", 5, 2, {"year": 2020}),),
        3,
        {"country_name": "Kenya"},
        ("a", "b"),
        "About it.",
        ("name", "count"),
    )


@pytest.mark.parametrize("read", [figure_years, stated])
def test_figures_of_many_texts_are_read_in_a_child_as_they_are_here(
    read: Callable[[str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolation, "MAX_TEXTS_HERE", 2_000)
    monkeypatch.setattr(isolation, "TEXTS_AT_ONCE", 2_500)
    texts = [
        f"Urban population\n\n**total:** {n}.5% (202{n % 4} est.), rural {n % 9}.25%"
        for n in range(50)
    ]
    assert sum(map(len, texts)) > 2_500
    with closing(LoaderPool(1)) as pool:
        assert list(pool.read_texts(read, texts, "a/b.csv")) == list(map(read, texts))


def test_small_texts_need_no_child_and_large_ones_get_one(
    loader: LoaderPool, tmp_path: Path
) -> None:
    loader.close()
    for name, content in {
        "a.md": "# T\n\nx",
        "a.txt": "x",
        "a.csv": "a,b\n1,2",
        "a.json": '{"a": 1}',
    }.items():
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        assert loader.load(path).sections
    assert loader._all[0]._child is None
    path.write_text(f'{{"a": "{"x" * IN_PROCESS_BYTES}"}}', encoding="utf-8")
    assert len(loader.load(path).sections[0].text) == IN_PROCESS_BYTES
    assert loader._all[0]._child is not None


CASES = cases(__file__)


def test_a_failure_names_the_file_and_the_next_one_is_read(
    loader: LoaderPool, page: Page
) -> None:
    for deed, message in CASES["failures"].items():
        with pytest.raises(LoadError) as raised:
            loader.load(page(deed))
        assert raised.value.message.startswith(message)
        assert isinstance(raised.value, ReaderFailedError) == (
            "the reader failed" in message
        )
        assert "damaged" not in raised.value.message
        assert loader.load(page("next")).sections[0].text == "next"


def test_a_file_that_takes_too_long_is_given_up(page: Page) -> None:
    loader = LoaderPool(1, time_limit=4, worker=BAD)
    before = pid(loader, page)
    started = time.monotonic()
    with pytest.raises(
        LoadError, match=r"^a\.html needs more than 4 s to be read\. Save it in parts "
    ):
        loader.load(page("spin"))
    assert 3.9 < time.monotonic() - started < 20
    assert not alive(before)
    loader.close()


def test_errors_of_the_loaders_pass_and_the_child_stays(
    tmp_path: Path, page: Page, loader: LoaderPool
) -> None:
    before = pid(loader, page)
    with pytest.raises(LoadError, match=r"^gone\.html cannot be read: No such file"):
        loader.load(tmp_path / "gone.html")
    assert loader.load(page("print")).sections[0].text == "done"
    assert loader.load(page("surrogate")).sections[0].text == "a ? b"
    assert pid(loader, page) == before


@pytest.mark.nightly
def test_a_worn_child_is_replaced(loader: LoaderPool, page: Page) -> None:
    worn, _ = loader.load(page("wear out")).sections[0].text.split()
    assert pid(loader, page) != int(worn)
    assert not alive(int(worn))


def test_the_child_knows_no_secret(
    loader: LoaderPool, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    loader.close()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    names = set(loader.load(page("environment")).sections[0].text.split())
    assert names == {
        "LC_ALL",
        "MALLOC_ARENA_MAX",
        "OPENBLAS_NUM_THREADS",
        "PATH",
        "PYTHONPATH",
        "PYTHONUTF8",
    }


def test_cancelling_ends_the_reading_at_once(loader: LoaderPool, page: Page) -> None:
    cancel = Cancellation()
    timer = threading.Timer(0.5, cancel.cancel)
    timer.start()
    started = time.monotonic()
    with pytest.raises(
        CancelledError, match=r"^a\.html was not read: it was cancelled\.$"
    ):
        loader.load(page("sleep"), cancel=cancel)
    assert time.monotonic() - started < 20
    timer.join()
    with pytest.raises(CancelledError):
        loader.load(page("x"), cancel=cancel)
    assert loader.load(page("next")).title == "next"


def test_cancelling_ends_the_waiting_too(loader: LoaderPool, page: Page) -> None:
    busy, waiting = Cancellation(), Cancellation()
    path = page("sleep")
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(loader.load, path, cancel=busy)
        time.sleep(0.3)
        second = pool.submit(loader.load, path, cancel=waiting)
        time.sleep(0.3)
        started = time.monotonic()
        waiting.cancel()
        with pytest.raises(CancelledError):
            second.result(timeout=30)
        assert time.monotonic() - started < 20
        assert not first.done()
        busy.cancel()
        with pytest.raises(CancelledError):
            first.result(timeout=30)


def test_a_late_cancellation_does_not_touch_the_next_file(
    loader: LoaderPool, page: Page
) -> None:
    cancel = Cancellation()
    loader.load(page("x"), cancel=cancel)
    before = pid(loader, page)
    cancel.cancel()
    time.sleep(0.1)
    assert pid(loader, page) == before


def test_closing_gives_up_the_file_and_ends_the_child(
    loader: LoaderPool, page: Page
) -> None:
    child = pid(loader, page)
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(loader.load, page("sleep"))
        time.sleep(0.5)
        loader.close()
        with pytest.raises(
            StoppedError, match=r"^a\.html was not read: the server is shutting down\.$"
        ):
            reading.result(timeout=30)
    assert not alive(child)
    loader.close()
    assert loader.load(page("next")).title == "next"


def test_a_child_that_died_while_idle_is_replaced(
    loader: LoaderPool, page: Page
) -> None:
    child = pid(loader, page)
    os.kill(child, signal.SIGKILL)
    while alive(child):
        time.sleep(0.01)
    assert pid(loader, page) != child


def test_threads_take_turns_and_get_their_own_files(
    loader: LoaderPool, tmp_path: Path
) -> None:
    paths = [tmp_path / f"{number}.html" for number in range(40)]
    for path in paths:
        path.write_text(f"<html>{path.name}", encoding="utf-8")
    with ThreadPoolExecutor(8) as pool:
        assert [loaded.title for loaded in pool.map(loader.load, paths)] == [
            path.name for path in paths
        ]


@pytest.mark.parametrize("deed", ["idle", "spin"])
def test_the_child_ends_with_its_parent_even_in_the_midst_of_a_file(
    page: Page, deed: str
) -> None:
    program = (
        "import os, sys, threading, time; from pathlib import Path\n"
        "from chatbot.library.loaders.isolation import LoaderPool\n"
        f"loader = LoaderPool(1, worker={BAD!r}); path = Path(sys.argv[1])\n"
        "print(loader.load(path).sections[0].text, flush=True)\n"
        f"path.write_text('<html>{deed}')\n"
        "threading.Thread(target=loader.load, args=(path,), daemon=True).start() "
        "if sys.argv[2] != 'idle' else None\n"
        "time.sleep(0.5); os._exit(0)\n"
    )
    command = [sys.executable, "-c", program, str(page("pid")), deed]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=True, cwd=Path.cwd()
    )
    deadline = time.monotonic() + 30
    while alive(int(done.stdout)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(int(done.stdout))


def test_a_name_that_is_no_unicode_can_be_sent(
    loader: LoaderPool, tmp_path: Path
) -> None:
    path = Path(os.fsdecode(bytes(tmp_path) + b"/\xff \n.html"))
    path.write_text("<html>Hello", encoding="utf-8")
    assert loader.load(path).title == "Hello"


@pytest.mark.nightly
def test_a_server_that_has_used_much_memory_does_not_wear_its_children_out(
    loader: LoaderPool, page: Page
) -> None:
    loader.close()
    ballast = bytearray(700 * 1024**2)
    ballast[::4096] = b"x" * len(ballast[::4096])
    del ballast
    assert pid(loader, page) == pid(loader, page)

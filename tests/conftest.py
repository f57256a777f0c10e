"""What every test can use: an empty data folder, services over it, and tiny reports to
ingest. No test reads the developer's environment or `.env`: what it wants to be
different it passes to `Settings`.
"""

import asyncio
import fcntl
import gc
import os
import re
import shutil
import signal
import subprocess
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from zlib import crc32

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from werkzeug.routing import Rule

from chatbot.app.services import Services, build, runtime
from chatbot.app.services.preparing import prepare_database
from chatbot.config.settings import Settings
from chatbot.database import embedded
from chatbot.domain.scope import Value
from chatbot.library.loaders import isolation, loader_for
from chatbot.library.pipeline import PLAIN, Ingested, Registration
from chatbot.library.sources import Source, make_document
from chatbot.models.caches import WarmCache
from tests.campaigns import times
from tests.fakes.openai_server import FakeOpenAI

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright

T = TypeVar("T")
gc.disable()  # until everything is collected: none of it is rubbish
for _name in list(os.environ):
    if _name.lower() in Settings.model_fields or _name.startswith("OPENAI_"):
        os.environ.pop(_name, None)
os.environ["EXTRAS"] = "none"  # tests of an extra name it (`_extras`)
os.environ["PYTHON_DOTENV_DISABLED"] = "1"  # also for the processes that tests start
if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # as a shell starts what runs in its background: they inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no fault of what is tested. At night there are more examples
# (.github/workflows/nightly.yml).
hypothesis_settings.register_profile(
    "any_speed",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=times("EXAMPLES", 15),
)
hypothesis_settings.load_profile("any_speed")

SLOW = re.compile(
    r"""(app/(cli|web)|browser|contracts|extras|faults)/
    |benchmarks/test_commands
    |answering/modes/test_(bookkeeping|budget_seconds|budgets|cancelling|fuzzed|scripted|searches|searching_at_once)
    |answering/test_presets|config/test_logs|questions/test_(complete_questions|conversations)
    |models/chat/test_openai|models/embed/test_(openai|wire)|database/test_mongo|library/fetching/test_transport|checking/test_citations
    |library/test_(control|formats|jobs|killed|late_search|upload_order)
    |library/loaders/test_(fuzz|isolation|limits)
    |language/test_words|models/(replies/test_asking|caches/test_vectors)|library/loaders/pdf/test_samples
    |test_(extending|gunicorn|packaging|snippets)""",
    re.VERBOSE,
)
"""What starts a process, a browser or a server, waits, or asks thousands of questions:
marked `slow`.
"""

# The shell has the same engine and no windows: a page costs a quarter of the processor
# time.
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
BROWSER_ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # One process shows one server's page after the other's, instead of a new one each
    # time.
    "--renderer-process-limit=1",
    "--disable-site-isolation-trials",
]

AddReport = Callable[..., Ingested]
"""``add_report(markdown, name="report", **metadata)``: ingests one Markdown report."""

KENYA_2023 = """# Kenya: Country Report 2023

## People and Society

### Population

52,428,290 (2023 est.)

### Population growth rate

2.09% (2023 est.)

## Geography

### Location

Eastern Africa, bordering the Indian Ocean, between Somalia and Tanzania
"""


def _is_slow(path: Path) -> bool:
    return SLOW.match(path.relative_to(Path(__file__).parent).as_posix()) is not None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    # Collecting them takes half as long as running the rest.
    return (
        True
        if config.option.markexpr == "not slow" and _is_slow(collection_path)
        else None
    )


def _leave_for_the_night(items: list[pytest.Item]) -> None:
    """Of a test that is marked `sampled(n)` all cases are `nightly` but those for which
    the places of their values in the lists of parameters add up to a multiple of n. So
    each value of each list is still seen by day, unless the other lists have fewer
    than n.
    """
    places: dict[tuple[str, ...], dict[tuple[int, ...], int]] = defaultdict(dict)
    for item in items:
        sampled = item.get_closest_marker("sampled")
        if sampled is None:
            continue
        assert isinstance(item, pytest.Function)
        test, values = item.nodeid.partition("[")[0], item.callspec.params
        lists = [_names(listed) for listed in item.iter_markers("parametrize")]
        lists += [(name,) for name in values.keys() - set().union(*lists)]
        place = 0
        for names in lists:
            of_list = places[test, *names]
            case = tuple(id(values[name]) for name in names)
            place += of_list.setdefault(case, len(of_list))
        if place % sampled.args[0]:
            item.add_marker("nightly")


def _names(listed: pytest.Mark) -> tuple[str, ...]:
    names = listed.args[0]
    if isinstance(names, str):
        names = [name.strip() for name in names.split(",")]
    return tuple(names)


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    _leave_for_the_night(items)
    if "nightly" not in config.option.markexpr:
        items[:] = [
            item for item in items if item.get_closest_marker("nightly") is None
        ]
    for item in items:
        if _is_slow(item.path):
            item.add_marker("slow")
    # What waits comes first, so that the end of a run is made of small files that keep
    # every worker busy; mixed, so that not all workers drive a browser at the same
    # time.
    items.sort(
        key=lambda item: (
            item.get_closest_marker("slow") is None,
            crc32(str(item.path).encode()),
        )
    )


def pytest_collection_finish() -> None:
    # What is collected stays to the end: no search for unused objects looks at it
    # again.
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _opening_services_is_cheap() -> Iterator[None]:
    """Thousands are opened: the shipped vectors, which never change, are read once, and
    no disk is waited for. What builds the address of a route is compiled when it is
    first asked for, not for every route of every application.
    """
    build = Rule._compile_builder
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "WarmCache", cache(WarmCache))
        patch.setattr(embedded, "SYNCHRONOUS", "OFF")
        patch.setattr(
            Rule,
            "_compile_builder",
            lambda *rule: lambda self, **names: build(*rule).__get__(self)(**names),
        )
        yield


@pytest.fixture(scope="session", autouse=True)
def _readers_are_kept() -> Iterator[None]:
    """A process that reads foreign formats takes most of a second to start. What closed
    services leave goes on to read for the next ones with the same limits.
    """
    start = isolation._start
    idle: list[tuple[subprocess.Popen[bytes], str, isolation.ReadingLimits]] = []

    def started(
        worker: str, limits: isolation.ReadingLimits
    ) -> subprocess.Popen[bytes]:
        for place, (kept, *made_for) in enumerate(idle):
            if made_for == [worker, limits] and kept.poll() is None:
                del idle[place]
                return kept
        return start(worker, limits)

    def close(loader: isolation.IsolatedLoader) -> None:
        loader._closed.set()
        with loader._turn:
            if loader._worker == isolation.WORKER and loader._child is not None:
                idle.append((loader._child, loader._worker, loader._limits))
                loader._child = None
            loader._discard()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(isolation, "_start", started)
        patch.setattr(isolation.IsolatedLoader, "close", close)
        yield
    for child, *_ in idle:
        isolation._kill(child)
        child.communicate()


@pytest.fixture(scope="module", autouse=True)
def _extras(request: pytest.FixtureRequest) -> Iterator[None]:
    """Tests of the core run without extras, those in `extras/NAME` with this one alone,
    those of the whole page with all. `pytestmark = pytest.mark.extras("all")` gives a
    file others.
    """
    folders = request.path.relative_to(Path(__file__).parent).parts[:-1]
    names = "all" if folders[:1] == ("browser",) else "none"
    if folders[:1] == ("extras",) and len(folders) > 1:
        names = folders[1]
    if (mark := request.node.get_closest_marker("extras")) is not None:
        names = ",".join(mark.args)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EXTRAS", names)
        yield


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Deterministic and offline: the hashing embedder, the echo model, an empty folder,
    no samples.
    """
    return small_settings(
        tmp_path / "data",
        chat_model="echo",
        cache_seconds=0,
        ingestion_workers=1,
        threads=2,
    )


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    """An endpoint that speaks OpenAI's protocol."""
    with FakeOpenAI() as running:
        yield running


@pytest.fixture(scope="session")
def prepared_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the tables and indexes of an empty database, made once."""
    folder = tmp_path_factory.mktemp("prepared") / "data"
    with build(small_settings(folder)) as opened:
        prepare_database(opened.storage)
    return folder


@pytest.fixture(scope="session")
def sample_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with all sample reports, embedded with the built-in model. It is
    made once for all workers, as it takes half a minute. A test serves a copy of it.
    """
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder = shared / "sample library"
    with (shared / "sample library.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            unfinished = shared / "unfinished sample library"
            settings = Settings(
                data_dir=unfinished, embedding_provider="minilm", sample_data="off"
            )
            with build(settings) as opened:
                opened.prepare()
                reports = opened.ingesting.sample_reports()
                reports.load()
                assert not reports.error
            unfinished.rename(folder)
    return folder


@pytest.fixture(scope="module")
def sample_settings(
    sample_library: Path, tmp_path_factory: pytest.TempPathFactory
) -> Settings:
    """Settings over a copy of `sample_library`."""
    folder = tmp_path_factory.mktemp("samples") / "data"
    shutil.copytree(sample_library, folder)
    return Settings(data_dir=folder, embedding_provider="minilm", sample_data="off")


@pytest.fixture(scope="session")
def chromium() -> str:
    """Its path. Without it the tests are skipped, but in CI that is a failure."""
    if CHROMIUM is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(
            "apt-get install chromium-headless-shell"
        )
    return CHROMIUM


@pytest.fixture(scope="session")
def playwright() -> Iterator["Playwright"]:
    """The browsers' driver. From its start on, this thread has a running loop:
    `run_async`.
    """
    from playwright.sync_api import sync_playwright  # few files of tests need it

    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def launched(chromium: str, playwright: "Playwright") -> Iterator["Browser"]:
    """One browser a worker: with its driver it takes more than a second to start."""
    browser = playwright.chromium.launch(
        executable_path=chromium, args=BROWSER_ARGUMENTS
    )
    yield browser
    browser.close()


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns, run in a thread of its own: there is no loop in
    it yet (`playwright`).
    """
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


@pytest.fixture
def services(settings: Settings, prepared_data: Path) -> Iterator[Services]:
    if not settings.data_dir.exists():
        shutil.copytree(prepared_data, settings.data_dir)
    with build(settings) as opened:
        yield opened


@pytest.fixture
def add_report(services: Services, tmp_path: Path) -> AddReport:
    """Write a Markdown report and ingest it; the same ``name`` again is the same
    report.
    """

    def add(markdown: str, name: str = "report", **metadata: Value) -> Ingested:
        return ingest_file(
            services,
            write_report(tmp_path / "reports", markdown, name),
            f"test/{name}",
            **metadata,
        )

    return add


@pytest.fixture
def kenya(add_report: AddReport) -> Ingested:
    """One small report with a country, a year and a type."""
    return add_report(
        KENYA_2023, "kenya-2023", country_name="Kenya", year=2023, type="country_report"
    )


def ingest_file(
    services: Services,
    path: Path,
    identity: str,
    about: Registration = PLAIN,
    **metadata: Value,
) -> Ingested:
    source = Source(path, identity, metadata=metadata, listed=True)
    return services.ingesting.ingestor.ingest(
        make_document(source, loader_for(path).load(path)), about
    )


def small_settings(folder: Path, **changes: Any) -> Settings:
    """Deterministic and offline: the hashing embedder, no samples, no summaries; the
    extras of the test (`_extras`).
    """
    fixed = {
        "extras": os.environ["EXTRAS"],
        "data_dir": folder,
        "embedding_provider": "hashing",
        "sample_data": "off",
        "summaries": "off",
    }
    return Settings(**{**fixed, **changes})


def write_report(folder: Path, markdown: str, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.md"
    path.write_text(markdown, encoding="utf-8")
    return path

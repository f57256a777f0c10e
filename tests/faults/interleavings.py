"""Processes that take turns at each call of the database, in an order drawn at random.

    run = Interleaving(random.Random(7), folder)
    run.play()          # AssertionError: what a reader showed and must not

Writers upload and delete reports by the product's own code, readers look. The order is
that of the draws alone: of all threads one runs, until its next call. Writers are
killed or paused for longer than a lease, and their calls fail; at times the database is
full.
"""

import json
import random
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pymongo.errors import NetworkTimeout, OperationFailure

from chatbot.app.services import build
from chatbot.config.settings import Settings
from chatbot.database import changes
from chatbot.database.core import Database
from chatbot.database.mongo import MongoDatabase
from chatbot.domain import Document
from chatbot.domain.errors import (
    CancelledError,
    ChatbotError,
    StoppedError,
    SupersededError,
)
from chatbot.library.loaders import loader_for
from chatbot.library.pipeline import Registration
from chatbot.library.sources import Source, document_id, make_document
from tests.fakes.mongomock_search import SearchClient
from tests.faults.enumeration import differences
from tests.faults.operations import Site, shown
from tests.faults.scripts import READS
from tests.library.helpers import KilledError

REPORTS = ("first", "second")
WRITERS, READERS = 2, 2
ACTS, LOOKS = 3, 8
"""Uploads and deletions of a writer, and looks of a reader."""
DELETION_SHARE = 0.4
TRIES = 3
"""How often a worker tries an upload that was stopped."""
REMOVING = {"delete_many", "delete_one", "drop_search_index"}
KILL_SHARE, FAIL_SHARE, PAUSE_SHARE, FULL_SHARE = 0.005, 0.01, 0.02, 0.004
"""Shares of the calls of writers that meet a fault; and before which the database gets
full.
"""
KILLED_AFTER_PAUSE_SHARE = 0.5
"""Share of the paused writers that make the one call before which they were paused, and
are killed then.
"""
JUMP_SHARE = 0.02
"""Share of the turns before which time passes."""
FULL_CALLS = 40
"""Calls for which the database stays full."""
MAX_CALLS = 20_000
"""Calls of a whole run: more of them mean that it does not end."""
START_SECONDS = 1_000.0
LONG_SECONDS = 1_000.0
"""Longer than any lease."""
MAX_PAUSE = 3
"""The longest pause, in LONG_SECONDS."""


def full() -> Exception:
    """As Atlas refuses a write beyond the quota of the smallest tier."""
    message = "you are over your space quota, using 513 MB of 512 MB"
    return OperationFailure(message, 8000, {"code": 8000, "errmsg": message})


class Clock:
    """The time of all processes."""

    def __init__(self) -> None:
        self.now = START_SECONDS

    def __call__(self) -> float:
        return self.now


class Actor(threading.Thread):
    """A process that runs from one call to the next when it is its turn."""

    def __init__(
        self, name: str, work: Callable[[], None], *, meets_faults: bool
    ) -> None:
        super().__init__(name=name, daemon=True)
        self.meets_faults = meets_faults
        self.is_killed = False
        self.has_ended = False
        self.error: BaseException | None = None
        self.wakes_at = 0.0
        """The time until which it is paused."""
        self._work = work
        self._may_run = threading.Semaphore(0)
        self._has_stopped = threading.Semaphore(0)

    def run(self) -> None:
        self._may_run.acquire()
        try:
            self._work()
        except KilledError:
            pass
        except Exception as error:  # noqa: BLE001  # the scheduler raises it
            self.error = error
        finally:
            self.has_ended = True
            self._has_stopped.release()

    def step(self) -> None:
        """Let it run to its next call, or to its end."""
        self._may_run.release()
        self._has_stopped.acquire()

    def stop_before_a_call(self) -> None:
        self._has_stopped.release()
        self._may_run.acquire()


class TurnsCollection:
    """The driver's collection, each call of which is a turn."""

    def __init__(self, raw: Any, actor: Callable[[], Actor | None], turns: "Turns"):
        self._raw = raw
        self._actor = actor
        self._turns = turns

    def __getattr__(self, method: str) -> Any:
        attribute = getattr(self._raw, method)
        if method == "with_options":
            return lambda *arguments, **options: TurnsCollection(
                attribute(*arguments, **options), self._actor, self._turns
            )
        if not callable(attribute):
            return attribute

        def run(*arguments: Any, **options: Any) -> Any:
            return self._turns.call(
                self._actor(), method, lambda: attribute(*arguments, **options)
            )

        return run


class TurnsDatabase(MongoDatabase):
    """The double of MongoDB as one process has it."""

    def __init__(self, client: Any, turns: "Turns") -> None:
        super().__init__(client, "test")
        self._turns = turns
        self.actor: Actor | None = None

    def raw(self, name: str) -> Any:
        return TurnsCollection(super().raw(name), lambda: self.actor, self._turns)

    def at_once(self, calls: Any) -> Any:
        return Database.at_once(self, calls)


@dataclass
class Turns:
    """Draws who is next, and what happens to a call."""

    dice: random.Random
    clock: Clock
    calls: int = 0
    full_until: int = 0

    def call(self, actor: Actor | None, method: str, make: Callable[[], Any]) -> Any:
        if actor is None or threading.current_thread() is not actor:
            return make()  # beside the run: its start, its end, and heartbeats
        if actor.is_killed:
            raise KilledError
        actor.stop_before_a_call()
        self.calls += 1
        assert self.calls < MAX_CALLS, "the run does not end"
        if self.calls < self.full_until and method not in READS | REMOVING:
            raise full()
        if not actor.meets_faults:
            return make()
        draw = self.dice.random()
        if draw < KILL_SHARE:
            actor.is_killed = True
            raise KilledError
        draw -= KILL_SHARE
        if draw < FAIL_SHARE:
            if draw < FAIL_SHARE / 2:
                make()
            raise NetworkTimeout("timed out")
        draw -= FAIL_SHARE
        if draw < PAUSE_SHARE:
            return self._after_a_pause(actor, make)
        if draw - PAUSE_SHARE < FULL_SHARE:
            self.full_until = self.calls + FULL_CALLS
        return make()

    def _after_a_pause(self, actor: Actor, make: Callable[[], Any]) -> Any:
        pause = self.dice.randint(1, MAX_PAUSE) * LONG_SECONDS
        actor.wakes_at = self.clock.now + pause
        actor.stop_before_a_call()
        result = make()
        if self.dice.random() < KILLED_AFTER_PAUSE_SHARE:
            actor.is_killed = True
            raise KilledError
        return result

    def run(self, actors: list[Actor]) -> None:
        """Let them take turns until all have ended."""
        for actor in actors:
            actor.start()
        alive = list(actors)
        while alive:
            awake = [one for one in alive if one.wakes_at <= self.clock.now]
            if not awake or self.dice.random() < JUMP_SHARE:
                self.clock.now += LONG_SECONDS
                continue
            actor = self.dice.choice(awake)
            actor.step()
            if actor.error is not None:
                raise actor.error
            alive = [one for one in alive if not one.has_ended]


@dataclass
class Upload:
    """An upload of a report, whose text has a word that no other has."""

    number: int
    word: str
    document: Document
    is_done: bool = False
    """It was reported as done, or as superseded by a newer one."""


class Process:
    """A process of the run with the library as it has it."""

    def __init__(self, client: SearchClient, turns: Turns, folder: Path) -> None:
        self._database = TurnsDatabase(client, turns)
        settings = Settings(
            data_dir=folder,
            vector_search="faiss",
            embedding_provider="hashing",
            chat_model="echo",
            sample_data="off",
            summaries="off",
        )
        self.site = Site(build(settings, database=self._database), folder)
        self.actor: Actor | None = None

    def begin(
        self, name: str, work: Callable[[], None], *, meets_faults: bool
    ) -> Actor:
        """Return the thread that does the work by turns."""
        actor = Actor(name, work, meets_faults=meets_faults)
        self.actor = self._database.actor = actor
        return actor

    @property
    def is_alive(self) -> bool:
        return self.actor is None or not self.actor.is_killed

    def close(self) -> None:
        if self.actor is not None:
            self.actor.is_killed = False
        self.site.services.close()


class Interleaving:
    """One run: writers of two reports, and readers."""

    def __init__(self, dice: random.Random, folder: Path) -> None:
        self.turns = Turns(dice, Clock())
        self._dice = dice
        self._folder = folder
        folder.mkdir(exist_ok=True)
        self._client = SearchClient()
        self._client.engine.enabled = False
        self._processes: list[Process] = []
        self._uploads: dict[str, list[Upload]] = {name: [] for name in REPORTS}
        self._unfinished_deletions: set[str] = set()
        self._deleted_words: set[str] = set()
        """Of texts whose deletion was reported as done."""

    def play(self) -> None:
        """Run to the end. Raises AssertionError: a process shows what it must not."""
        real, changes.clock = changes.clock, self.turns.clock
        try:
            self._play()
        finally:
            changes.clock = real
            for process in self._processes:
                process.close()

    def _play(self) -> None:
        writers = [self._process() for _ in range(WRITERS)]
        readers = [self._process() for _ in range(READERS)]
        writers[0].site.services.prepare()
        for process in self._processes:
            shown(process.site)
        actors = [
            one.begin(f"writer {n}", partial(self._write, one), meets_faults=True)
            for n, one in enumerate(writers)
        ]
        actors += [
            one.begin(f"reader {n}", partial(self._read, one), meets_faults=False)
            for n, one in enumerate(readers)
        ]
        self.turns.run(actors)
        self._finish([one for one in self._processes if one.is_alive])

    def _process(self) -> Process:
        number = len(self._processes)
        process = Process(self._client, self.turns, self._folder / str(number))
        self._processes.append(process)
        return process

    def _write(self, process: Process) -> None:
        for _ in range(ACTS):
            report = self._dice.choice(REPORTS)
            with suppress(ChatbotError):
                if self._dice.random() < DELETION_SHARE:
                    self._delete(process, report)
                else:
                    self._upload(process, self._new_upload(report))

    def _read(self, process: Process) -> None:
        for _ in range(LOOKS):
            self._look(process)

    def _look(self, process: Process) -> dict[str, Any]:
        forbidden = set(self._deleted_words)
        view = shown(process.site)
        text = json.dumps(view, default=str)
        visible = {word for word in forbidden if word in text}
        assert not visible, f"deleted, and still shown: {visible}"
        return view

    def _new_upload(self, report: str) -> Upload:
        number = sum(map(len, self._uploads.values())) + 1
        word = f"word{number:03}"
        text = f"# {report}\n\n## Part\n\nThe {word} lives here.\n"
        text += f"\n## Population\n\n{number},000 {word} (2023 est.)\n"
        path = self._folder / f"{word}.md"
        path.write_text(text, encoding="utf-8")
        source = Source(path, report, title=report)
        document = make_document(source, loader_for(path).load(path))
        upload = Upload(number, word, document)
        self._uploads[report].append(upload)
        return upload

    def _upload(self, process: Process, upload: Upload) -> None:
        """Raises ChatbotError: it is not done, and a worker tries it again later."""
        about = Registration(upload_number=upload.number)
        try:
            process.site.services.ingesting.ingestor.ingest(upload.document, about)
        except StoppedError:
            raise
        except (SupersededError, CancelledError):
            pass  # there is nothing left to do
        upload.is_done = True

    def _delete(self, process: Process, report: str) -> None:
        # What is uploaded meanwhile may stay.
        words = {one.word for one in self._uploads[report] if one.is_done}
        self._unfinished_deletions.add(report)
        process.site.services.ingesting.ingestor.delete(document_id(report))
        self._unfinished_deletions.discard(report)
        self._deleted_words |= words

    def _try_again(self, process: Process, upload: Upload) -> None:
        for _ in range(TRIES):
            if upload.is_done:
                return
            with suppress(StoppedError):
                self._upload(process, upload)
        assert upload.is_done, f"upload {upload.number} is never done"

    def _finish(self, living: Sequence[Process]) -> None:
        """Have the living do what is left; then each shows what a new one shows."""
        self.turns.full_until = 0
        survivor = living[0]
        for report in sorted(self._unfinished_deletions):
            self._delete(survivor, report)
        for report in REPORTS:
            for upload in self._uploads[report]:
                self._try_again(survivor, upload)
        for _ in range(2):
            for process in living:
                process.site.database.changes.close_abandoned()
            self.turns.clock.now += LONG_SECONDS
        survivor.site.services.ingesting.finish_deletions()
        survivor.site.services.ingesting.clear_up()
        survivor.site.services.retention.purge_expired()
        expected = self._look(self._process())
        for process in living:
            view = self._look(process)
            assert list(differences(expected, view)) == []
        for record in expected["list"]:
            assert (record["status"], record["replacing"]) == ("ready", ""), record
            passages = expected["passages"][record["id"]]
            assert len(passages) == record["chunks"] > 0

"""A worker whose HTML loader does what damaged files make libraries do. The file's text
names it: `<html>sleep`.
"""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from chatbot.domain import Loaded, Section
from chatbot.domain.documents import lay_out
from chatbot.domain.errors import LoadError
from chatbot.library.loaders import LOADERS, isolation
from chatbot.library.loaders.ocr import Ocr


class BadLoader:
    suffixes = (".html",)
    ocr = Ocr()

    def load(self, path: Path) -> Loaded:
        name = path.read_text(encoding="utf-8").removeprefix("<html>")
        for page in range(3, 3 + self.ocr.pages):
            self.ocr.begin(page)
        text = DEEDS[name]() if name in DEEDS else name
        sections = lay_out(
            [Section(("Part",), text or "done", page=2, metadata={"year": 2020})]
        )
        return Loaded(
            name[:20],
            sections,
            3,
            {"country_name": "Kenya"},
            ("a", "b"),
            "About it.",
            ("name", "count"),
        )


def _print() -> str:
    print("a library's remark")  # noqa: T201
    os.write(1, b"and one from C\n")
    return ""


def _take_memory() -> str:
    return str(len(bytearray(3 * 1024**3)))


def _memory_as_damage() -> str:
    try:
        return _take_memory()
    except MemoryError as error:
        raise LoadError("a.html is damaged.") from error


def _wear_out() -> str:
    size = len(bytearray(b"x") * (600 * 1024**2))
    return f"{os.getpid()} {size}"


def _recurse() -> str:
    return _recurse()


def _spin() -> str:
    while True:
        pass


DEEDS: dict[str, Callable[[], str | None]] = {
    "sleep": lambda: time.sleep(600),
    "spin": _spin,
    "memory": _take_memory,
    "memory as damage": _memory_as_damage,
    "wear out": _wear_out,
    "abort": os.abort,
    "exit": lambda: sys.exit(3),
    "recursion": _recurse,
    "mistake": lambda: str(min([])),
    "killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "print": _print,
    "pid": lambda: str(os.getpid()),
    "environment": lambda: " ".join(sorted(os.environ)),
    "surrogate": lambda: "a \ud800 b",
    "too much": lambda: "x" * (isolation.MAX_LOADED + 1),
}


def build() -> BadLoader:
    return BadLoader()


if __name__ == "__main__":
    sys.modules.setdefault("tests.library.loaders.bad_worker", sys.modules["__main__"])
    LOADERS._modules["html"] = "tests.library.loaders.bad_worker"
    isolation.main()

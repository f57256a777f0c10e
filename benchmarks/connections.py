"""Eight connections that come at the same moment, over gunicorn's two workers, beside
another checkout.

    python -m benchmarks connections [BASE] [--tries 18]

Each try opens eight connections, counts those of each worker, then sends a question on
all of them: how the connections were shared out, and how many questions a second were
answered. The checkouts take turns.
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.recorded import wait_until_ready

ROOT = Path(__file__).parents[1]
CONNECTIONS, WORKERS = 8, 2
SETTLE_SECONDS = 0.4
BODY = b'{"query": "What is the population growth rate of Kenya?", "cache": false}'
REQUEST = (
    b"POST /query HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b"Connection: close\r\n"
)


@contextmanager
def gunicorn(root: Path) -> Iterator[tuple[int, list[int]]]:
    """The port of a server over the sample reports and its workers' processes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    inherited = {
        name: os.environ[name]
        for name in ("PATH", "HOME", "PYTHONPATH")
        if name in os.environ
    }
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "PORT": str(port),
            "DATA_DIR": folder,
            "PYTHON_DOTENV_DISABLED": "1",
            "CACHE_SECONDS": "0",
            "WEB_CONCURRENCY": str(WORKERS),
        }
        command = [sys.executable, "-m", "gunicorn", "app:app"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(
            command, cwd=root, env={**inherited, **settings}, **quiet
        )
        try:
            wait_until_ready(f"http://127.0.0.1:{port}", process)
            children = Path(
                f"/proc/{process.pid}/task/{process.pid}/children"
            ).read_text(encoding="ascii")
            yield port, list(map(int, children.split()))
        finally:
            process.terminate()
            process.wait(30)


def sockets_of(process: int) -> int:
    files = (
        entry for entry in Path(f"/proc/{process}/fd").iterdir() if entry.is_symlink()
    )
    return sum(str(file.readlink()).startswith("socket:") for file in files)


def one_try(port: int, workers: list[int]) -> tuple[tuple[int, ...], float]:
    """Return the connections of each worker, most first, and the questions a second."""
    before = list(map(sockets_of, workers))
    with ExitStack() as stack:
        connections = [stack.enter_context(socket.socket()) for _ in range(CONNECTIONS)]
        for connection in connections:
            connection.setblocking(False)
            connection.connect_ex(("127.0.0.1", port))
        time.sleep(SETTLE_SECONDS)
        shares = sorted(
            (
                sockets_of(worker) - count
                for worker, count in zip(workers, before, strict=True)
            ),
            reverse=True,
        )
        began = time.perf_counter()
        for connection in connections:
            connection.setblocking(True)
            connection.sendall(
                REQUEST + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
            )
        for connection in connections:
            answer = b"".join(iter(lambda each=connection: each.recv(65536), b""))
            assert answer.startswith(b"HTTP/1.1 200"), answer[:200]
        return tuple(shares), CONNECTIONS / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base", nargs="?", type=Path, help="another checkout")
    parser.add_argument("--tries", type=int, default=18)
    chosen = parser.parse_args()
    roots = {"this": ROOT} | ({"base": chosen.base.resolve()} if chosen.base else {})
    shares, speeds = (
        defaultdict[str, Counter[tuple[int, ...]]](Counter),
        defaultdict[str, list[float]](list),
    )
    with ExitStack() as stack:
        servers = {
            name: stack.enter_context(gunicorn(root)) for name, root in roots.items()
        }
        for number in range(chosen.tries + 1):
            for name in sorted(servers, reverse=number % 2 == 0):
                share, speed = one_try(*servers[name])
                if number:  # the first warms up
                    shares[name][share] += 1
                    speeds[name].append(speed)
    for name in roots:
        said = ", ".join(
            f"{' and '.join(map(str, share))}: {count}"
            for share, count in shares[name].most_common()
        )
        print(
            f"{name}: {said}; {statistics.median(speeds[name]):.1f} questions a second "
            f"(load {os.getloadavg()[0]:.0f})"
        )
    if len(roots) > 1:
        ratios = [
            own / base for own, base in zip(speeds["this"], speeds["base"], strict=True)
        ]
        print(f"median of the pairs' ratios: {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()

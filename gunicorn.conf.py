"""Production server: `gunicorn app:app`. Every worker can serve any request; state is in the database.

WEB_CONCURRENCY (gunicorn's own variable) sets the number of workers, else there is one for each core, four at most.
"""

import os
import shutil
import tempfile
from pathlib import Path

from gunicorn.arbiter import Arbiter
from gunicorn.workers.base import Worker

from chatbot.config.settings import Settings, in_url, is_loopback

_environment = dict(os.environ)
_settings = Settings.from_env()
bind = f"{in_url(_settings.host)}:{_settings.port}"
# Python computes on one core for each process; another one takes 150 MB, as all map the same index.
_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
workers = int(os.environ.get("WEB_CONCURRENCY") or min(_cores, 4))
# What .env says is each worker's to read: left here, a reload (SIGHUP) would begin them with what it said before.
for _name in os.environ.keys() - _environment.keys():
    del os.environ[_name]
worker_class = "chatbot.app.web.gunicorn_worker.LoopWorker"
backlog = 2048
# A worker's heartbeat comes from its loop, which no request holds up.
timeout = 120
graceful_timeout = 30

# Where the workers count together (/metrics): new at each start, so that no old count is added, and kept by a reload.
_own = f"report-chat-metrics-{os.getpid()}-"
_counts = os.environ.get("PROMETHEUS_MULTIPROC_DIR", "")
if not Path(_counts).name.startswith(_own):
    _counts = tempfile.mkdtemp(prefix=_own)
os.environ["PROMETHEUS_MULTIPROC_DIR"] = _counts


def on_starting(server: Arbiter) -> None:
    """What `--bind` says instead of HOST is what ACCESS goes by; the workers load the application after this."""
    hosts = [address[0] if isinstance(address, tuple) else "localhost" for address in server.cfg.address]
    host = next((host for host in hosts if not is_loopback(host)), _settings.host)
    if host != _settings.host:
        os.environ["HOST"] = host


def child_exit(server: Arbiter, worker: Worker) -> None:
    """What a worker had under way has ended with it."""
    from prometheus_client.multiprocess import mark_process_dead  # which reads the variable when it is imported

    mark_process_dead(worker.pid)


def on_exit(server: Arbiter) -> None:
    """The counts end with the server."""
    shutil.rmtree(_counts, ignore_errors=True)

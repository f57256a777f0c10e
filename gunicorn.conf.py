"""Production server: `gunicorn app:app`. Every worker can serve any request; state is
in the database.

WEB_CONCURRENCY (gunicorn's own variable) sets the number of workers. The default is one
for each core, at most four.
"""

import os
import shutil
import tempfile
from pathlib import Path

from gunicorn.arbiter import Arbiter
from gunicorn.config import Config
from gunicorn.glogging import Logger
from gunicorn.workers.base import Worker

from chatbot.config.log import log_formatter
from chatbot.config.settings import Settings, in_url, is_loopback

_environment = dict(os.environ)
_settings = Settings.from_env()
bind = f"{in_url(_settings.host)}:{_settings.port}"
# A Python process computes on one core. Each further process takes 150 to 240 MB,
# because all map the same index.
_cores = (
    len(os.sched_getaffinity(0))
    if hasattr(os, "sched_getaffinity")
    else os.cpu_count() or 1
)
workers = int(os.environ.get("WEB_CONCURRENCY") or min(_cores, 4))
# Each worker reads .env itself. If its values stayed in this environment, workers would
# keep the old ones at a reload (SIGHUP).
for _name in os.environ.keys() - _environment.keys():
    del os.environ[_name]


class Lines(Logger):  # type: ignore[misc]
    """gunicorn's own lines in the format of all others (LOG_FORMAT)."""

    def setup(self, cfg: Config) -> None:
        super().setup(cfg)
        for handler in self.error_log.handlers:
            handler.setFormatter(log_formatter(_settings.log_format))


logger_class = Lines
worker_class = "chatbot.app.web.gunicorn_worker.LoopWorker"
backlog = 2048
# The heartbeat of a worker comes from its event loop, which no request blocks.
timeout = 120
graceful_timeout = 30

# Folder of the counters that all workers share (/metrics). Each start uses a new
# folder, so that old counts are not added; a reload keeps it.
_own = f"report-chat-metrics-{os.getpid()}-"
_counts = os.environ.get("PROMETHEUS_MULTIPROC_DIR", "")
if not Path(_counts).name.startswith(_own):
    _counts = tempfile.mkdtemp(prefix=_own)
os.environ["PROMETHEUS_MULTIPROC_DIR"] = _counts


def on_starting(server: Arbiter) -> None:
    """Set HOST to the address of `--bind`, which ACCESS depends on. The workers load
    the application after this.
    """
    hosts = [
        address[0] if isinstance(address, tuple) else "localhost"
        for address in server.cfg.address
    ]
    host = next((host for host in hosts if not is_loopback(host)), _settings.host)
    if host != _settings.host:
        os.environ["HOST"] = host


def child_exit(server: Arbiter, worker: Worker) -> None:
    """Remove the gauges of a worker that has ended."""
    from prometheus_client.multiprocess import (
        mark_process_dead,
    )  # the import reads the variable

    mark_process_dead(worker.pid)


def on_exit(server: Arbiter) -> None:
    """Delete the counters."""
    shutil.rmtree(_counts, ignore_errors=True)

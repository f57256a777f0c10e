"""Production server: `gunicorn app:app`. Every worker can serve any request; state is in the database."""

import os

bind = f"{os.environ.get('HOST', '127.0.0.1')}:{os.environ.get('PORT', '8000')}"
worker_class = "gthread"
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
threads = int(os.environ.get("THREADS", "8"))
# Streaming answers outlive the default; a worker's heartbeat is independent of its requests.
timeout = 120
graceful_timeout = 30

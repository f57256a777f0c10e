"""Production server: `gunicorn app:app`. Every worker can serve any request; state is in the database.

WEB_CONCURRENCY (gunicorn's own variable) sets the number of workers.
"""

from chatbot.settings import Settings

_settings = Settings.from_env()
bind = f"{_settings.host}:{_settings.port}"
worker_class = "gthread"
threads = _settings.threads
# Streaming answers outlive the default; a worker's heartbeat is independent of its requests.
timeout = 120
graceful_timeout = 30

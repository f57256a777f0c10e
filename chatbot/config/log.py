"""The log on the error stream: every line in one format (LOG_FORMAT), ours and those of
libraries.
"""

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

LogFormat = Literal["text", "json"]


class JsonLines(logging.Formatter):
    """Each line is one JSON object. The named arguments of a message are fields of it,
    in place of the message.
    """

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(
                timespec="milliseconds"
            ),
            "level": record.levelname,
            "logger": record.name,
            **(
                record.args
                if isinstance(record.args, Mapping)
                else {"message": record.getMessage()}
            ),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def log_formatter(style: LogFormat) -> logging.Formatter:
    """Return the formatter of all lines."""
    if style == "json":
        return JsonLines()
    return logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")


def begin_log(level: str, style: LogFormat) -> None:
    """Log our own lines from ``level`` (LOG_LEVEL) on, and warnings of libraries.
    httpx2 would log addresses with passwords, and pymongo the content of each command,
    with questions and secrets.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(log_formatter(style))
    logging.basicConfig(
        level=max(logging.getLevelNamesMapping()[level], logging.WARNING),
        handlers=[handler],
    )
    logging.getLogger("chatbot").setLevel(level)

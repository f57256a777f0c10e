"""What stops a start, and what is tried again behind it."""

import threading

import pytest

from chatbot.app.web.server import Startup
from chatbot.domain.errors import ChatbotError, DatabaseError, SettingsError

DOWN = DatabaseError("MongoDB does not answer.", retry_after=5)


class Work:
    """Fails with these errors, one after another, then succeeds."""

    def __init__(self, *errors: ChatbotError) -> None:
        self.errors = list(errors)
        self.tries = 0

    def __call__(self) -> None:
        self.tries += 1
        if self.errors:
            raise self.errors.pop(0)


def test_what_turns_out_wrong_later_ends_the_tries_and_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    work = Work(DOWN, SettingsError("the embedding model is another one"))
    startup = Startup(work)
    startup.run()
    for thread in threading.enumerate():
        if thread.name == "startup":
            thread.join(60)
    assert work.tries == 2
    assert "the embedding model is another one" in caplog.text


def test_closing_ends_the_tries() -> None:
    work = Work(*[DOWN] * 100)
    startup = Startup(work)
    startup.run()
    startup.close()
    assert work.tries == 1

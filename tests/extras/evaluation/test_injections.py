"""No file of the corpus leaves its place in a prompt; and the check would see it if one
did.
"""

from pathlib import Path

import pytest

from chatbot.answering import context
from chatbot.extras.evaluation.runner import broken, injection_cases


def test_every_case_holds(tmp_path: Path) -> None:
    assert broken(tmp_path) == {}
    assert (len(injection_cases("text")), len(injection_cases("answer"))) == (40, 20)


def test_it_sees_text_that_is_quoted_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "inert", lambda text: text)
    monkeypatch.setattr(context, "on_one_line", lambda text: text)
    assert len(broken(tmp_path)) > 15

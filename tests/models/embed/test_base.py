"""Long text is embedded to its end (R-A7)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot.language import estimate_tokens
from chatbot.models.embed.base import average, text_windows


@given(st.text(alphabet="ab \n\té界", max_size=400), st.integers(2, 40))
def test_no_window_is_too_long_and_no_character_is_lost(text: str, size: int) -> None:
    pieces = text_windows(text, size, estimate_tokens)
    assert all(estimate_tokens(piece) <= size for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())


def test_a_text_that_fits_is_left_as_it_is() -> None:
    assert text_windows("  Two\nlines ", 100, estimate_tokens) == ["  Two\nlines "]


def test_words_stay_whole_where_there_is_white_space() -> None:
    words = [f"word{number}" for number in range(200)]
    pieces = text_windows(" ".join(words), 40, estimate_tokens)
    assert len(pieces) > 2
    assert " ".join(pieces).split() == words


def test_a_long_window_weighs_more_than_a_short_one() -> None:
    east, north = np.eye(2, dtype=np.float32)
    assert average([east, north], [3, 1]) == pytest.approx([3 / 10**0.5, 1 / 10**0.5])
    assert average([east], [0]) == pytest.approx([1.0, 0.0])

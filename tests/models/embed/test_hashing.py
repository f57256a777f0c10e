"""The tests' own embedder: deterministic everywhere, near for shared words."""

import numpy as np
import pytest

from chatbot.config.settings import Settings
from chatbot.domain.errors import SettingsError
from chatbot.models.embed import EMBEDDERS
from chatbot.models.embed.hashing import HashingEmbedder

EMBEDDER = HashingEmbedder(256)


def test_vectors_do_not_depend_on_the_process_or_the_platform() -> None:
    """Python's own hash() differs from run to run; this one must not: positions as
    written down once.
    """
    vector = EMBEDDER.embed_query("zebra crossing")
    assert {int(i): round(float(vector[i]), 4) for i in np.flatnonzero(vector)} == {
        16: 0.7071,
        63: -0.7071,
    }


def test_the_model_is_the_number_of_dimensions() -> None:
    built = EMBEDDERS.builder("hashing")(Settings(), model="64")
    assert (built.dimensions, built.model_id) == (64, "hashing:64")
    for wrong in ("big", "7", "9000", "-8"):
        with pytest.raises(
            SettingsError, match=f"EMBEDDING_MODEL='{wrong}'.*8 to 8192"
        ):
            EMBEDDERS.builder("hashing")(Settings(), model=wrong)

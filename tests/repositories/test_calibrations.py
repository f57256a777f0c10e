"""Calibrations in the database: one for all workers, and for each model its own."""

from __future__ import annotations

from dataclasses import replace

from chatbot.database import Database
from chatbot.repositories.calibrations import CalibrationRepository
from chatbot.schema.calibrations import Calibration, ErrorRates

FOUND = Calibration(
    "openai:some/model.v1",
    0.6,
    0.7,
    "measured",
    "mine",
    "2026-01-02",
    {"answerable": 30},
    (ErrorRates(0.5, 0.0, 1.0, 0.0, 0.9), ErrorRates(0.6, 0.1, 0.2, 0.3, 0.4)),
)


def test_it_comes_back_as_it_was_put_from_another_worker(database: Database) -> None:
    CalibrationRepository(database).put(FOUND)
    assert CalibrationRepository(database).get(FOUND.model_id) == FOUND


def test_the_latest_counts_and_other_models_have_none(database: Database) -> None:
    repository = CalibrationRepository(database)
    repository.put(FOUND)
    repository.put(replace(FOUND, floor=0.65, errors=()))
    found = repository.get(FOUND.model_id)
    assert found is not None
    assert (found.floor, found.errors) == (0.65, ())
    assert repository.get("openai:some/model") is None


def test_it_can_be_forgotten(database: Database) -> None:
    repository = CalibrationRepository(database)
    repository.put(FOUND)
    assert repository.delete(FOUND.model_id)
    assert repository.get(FOUND.model_id) is None
    assert not repository.delete(FOUND.model_id)

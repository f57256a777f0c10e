"""Calibrations of embedding models, by model id: one for all workers, next to the vectors they speak of."""

from __future__ import annotations

from dataclasses import asdict

from ..database import Database
from ..schema.calibrations import Calibration, ErrorRates


class CalibrationRepository:
    """Small documents in the collection `meta`."""

    def __init__(self, database: Database) -> None:
        self._meta = database["meta"]

    def get(self, model_id: str) -> Calibration | None:
        """What was measured on this database."""
        found = self._meta.find_one({"_id": _id(model_id)})
        if found is None:
            return None
        fields = {name: found[name] for name in Calibration.__slots__ if name in found}
        return Calibration(**{**fields, "errors": tuple(ErrorRates(**rates) for rates in found["errors"])})

    def put(self, calibration: Calibration) -> None:
        """Replaces what was measured before."""
        stored = {**asdict(calibration), "errors": [asdict(rates) for rates in calibration.errors]}
        self._meta.replace_many([{"_id": _id(calibration.model_id), **stored}])

    def delete(self, model_id: str) -> bool:
        """Back to what is shipped; False when nothing was measured."""
        return self._meta.delete_many({"_id": _id(model_id)}) > 0


def _id(model_id: str) -> str:
    return f"calibration:{model_id}"

"""A question split over a small catalog."""

from __future__ import annotations

from chatbot.retrieval.decomposition import sub_questions
from chatbot.schema import Scope
from tests.retrieval.reports import Reports

COUNTRIES = ("Kenya", "Mali", "Somalia", "Peru", "Chile", "Philippines", "Haiti")
REPORTS = Reports(*((country, year) for country in COUNTRIES for year in (2021, 2023, 2025)))


def split(text: str, scope: Scope = Scope(), most: int = 4, reports: Reports = REPORTS) -> list[str]:  # noqa: B008
    return sub_questions(text, scope, reports, most)

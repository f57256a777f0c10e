"""What the name of a file is taken to say, and what it is not."""

from __future__ import annotations

from typing import Any

import pytest

from chatbot.ingestion.file_names import metadata_of

NAMES: dict[str, dict[str, Any]] = {
    "kenya-2024": {"country_name": "kenya", "year": 2024},
    "2024_Kenya_final": {"country_name": "Kenya", "year": 2024},
    "PAPUA-NEW-GUINEA 1998": {"country_name": "PAPUA NEW GUINEA", "year": 1998},
    "guinea": {"country_name": "guinea"},
    "guinea-bissau": {"country_name": "guinea bissau"},
    "south-sudan and sudan 2020": {"year": 2020},
    "bosnia and herzegovina": {"country_name": "bosnia and herzegovina"},
    "congo-democratic-republic-of-2024": {"country_name": "congo democratic republic of", "year": 2024},
    "Türkiye": {"country_name": "Türkiye"},
    "kenya-KENYA-2023": {"country_name": "KENYA", "year": 2023},
    "kenya-mali-2023": {"year": 2023},
    "kenya-2022-2023": {"country_name": "kenya"},
    "kenya-2023-v2023": {"country_name": "kenya", "year": 2023},
    "report20231": {},
    "20230115-report": {},
    "year-1899": {},
    "in-us-it-ken": {},
    "annual-report": {},
    "": {},
}


@pytest.mark.parametrize(("stem", "expected"), NAMES.items(), ids=NAMES)
def test_names(stem: str, expected: dict[str, Any]) -> None:
    assert metadata_of(stem) == expected

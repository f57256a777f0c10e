"""Figures as data: with an answer, and of all editions by country, indicator and
year.
"""

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest
from flask.testing import FlaskClient

from chatbot.library.pipeline import Ingested
from tests.app.web.conftest import Post, error_of, fields_of
from tests.app.web.contract import FIGURE
from tests.data import cases

CASES = cases(__file__)

REPORT = """# Kenya: Country Report {edition}

## Economy

### Inflation rate (consumer prices)

{inflation}

### Median age

**total:** 20.9 years (2023 est.)

**male:** 20.8 years
"""
EDITIONS = {
    2023: "6.11% (2021 est.)\n\n5.4% (2020 est.)",
    2025: "7.7% (2023 est.)\n\n6.1% (2021 est.)",
}


@pytest.fixture
def editions(add_report: Callable[..., Ingested]) -> None:
    for edition, inflation in EDITIONS.items():
        text = REPORT.format(edition=edition, inflation=inflation)
        add_report(
            text,
            f"kenya-{edition}",
            country_name="Kenya",
            year=edition,
            type="country_report",
        )


def told(found: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (one["value"], one["year"], one["edition"], one["newest"])
        for one in found["figures"]
    ]


@pytest.mark.usefixtures("editions")
class TestFigures:
    def test_by_year_and_edition_with_revisions_marked_page_by_page(
        self, client: FlaskClient
    ) -> None:
        name = "inflation%20rate%20(consumer%20prices)"
        found = client.get(
            f"/api/figures?country_name=kenya&indicator={name}"
        ).get_json()
        assert told(found) == [
            (5.4, 2020, 2023, True),
            (6.11, 2021, 2023, False),
            (6.1, 2021, 2025, True),
            (7.7, 2023, 2025, True),
        ]
        assert set(found) == {"figures", "total", "next"}
        assert all(set(one) == FIGURE for one in found["figures"])
        found = client.get(
            "/api/figures?indicator=Median+age:+male&year=2023"
        ).get_json()["figures"]
        texts = [(one["subject"], one["indicator"], one["text"]) for one in found]
        assert texts == [("Kenya", "Median age: male", "20.8 years")] * 2
        every = client.get("/api/figures").get_json()
        pages, cursor = [], ""
        while cursor is not None:
            page = client.get(f"/api/figures?limit=3&cursor={cursor}").get_json()
            pages.append(page["figures"])
            cursor = page["next"]
        assert (every["total"], page["total"], every["next"]) == (8, 8, None)
        assert list(map(len, pages)) == [3, 3, 2]
        assert [one for page in pages for one in page] == every["figures"]
        assert fields_of(client.get("/api/figures?cursor=3")) == ["cursor"]

    def test_as_a_file_in_both_layouts(self, client: FlaskClient) -> None:
        response = client.get("/api/figures?indicator=Median+age:+male&format=csv")
        assert response.mimetype == "text/csv"
        assert (
            response.headers["Content-Disposition"]
            == 'attachment; filename="figures.csv"'
        )
        rows = list(csv.DictReader(io.StringIO(response.get_data(as_text=True))))
        told = client.get("/api/figures?indicator=Median+age:+male").get_json()[
            "figures"
        ]
        assert [(row["subject"], float(row["value"]), row["text"]) for row in rows] == [
            (one["subject"], one["value"], one["text"]) for one in told
        ]
        asked = "/api/figures?country_name=kenya&layout=wide&format="
        table = csv.DictReader(
            io.StringIO(client.get(f"{asked}csv").get_data(as_text=True))
        )
        rows = {row["indicator"]: row for row in table}
        inflation = rows["Inflation rate (consumer prices)"]
        assert [
            inflation[name] for name in ("subject", "unit", "2020", "2021", "2023")
        ] == [
            "Kenya",
            "%",
            "5.4",
            "6.1",
            "7.7",
        ]
        refused = error_of(client.get(f"{asked}xlsx"), 400, "unknown_name")
        assert "EXTRAS leaves out the extra 'exports'" in refused["message"]

    def test_what_is_unknown_is_named(self, client: FlaskClient) -> None:
        for asked, field in CASES["what is unknown is named"]:
            assert fields_of(client.get(f"/api/figures?{asked}")) == [field]
            error = error_of(client.get("/api/figures?indicator=inflation"), 400)
            assert error["details"][0]["valid_values"] == [
                "Inflation rate (consumer prices)"
            ]

    def test_an_answer_has_those_of_what_it_cites(self, query: Post) -> None:
        body = query(
            query="What is the median age of Kenya?", filters={"year": 2025}
        ).get_json()
        cited = {
            citation["number"]: citation["chunk_id"] for citation in body["citations"]
        }
        assert body["figures"]
        assert all(cited[one["citation"]] == one["chunk_id"] for one in body["figures"])
        [total] = [one for one in body["figures"] if one["indicator"] == "Median age"]
        assert (total["value"], total["unit"], total["year"], total["estimate"]) == (
            20.9,
            "years",
            2023,
            True,
        )


@pytest.mark.usefixtures("editions")
class TestQuery:
    def test_computes_with_citations_in_the_language_asked(
        self, client: FlaskClient
    ) -> None:
        body = {
            "indicators": ["Inflation rate (consumer prices)"],
            "subjects": ["Kenya"],
            "editions": [2023, 2025],
            "steps": [{"op": "difference"}],
            "language": "fr",
        }
        found = client.post("/api/figures/query", json=body).get_json()
        [[cell]] = [row["cells"] for row in found["rows"]]
        assert (cell["value"], cell["text"]) == (-1.59, "-1.59 percentage points")
        assert cell["how"] == "6.11% in 2021 - 7.7% in 2023"
        assert [one["year"] for one in found["citations"]] == [2023, 2025]
        assert found["text"].startswith("Kenya, Inflation rate (consumer prices) : ")

    def test_stays_inside_the_filters(self, client: FlaskClient) -> None:
        body = {"indicators": ["Median age"], "filters": {"year": [2023]}}
        found = client.post("/api/figures/query", json=body).get_json()
        assert [one["year"] for one in found["citations"]] == [2023]

    @pytest.mark.parametrize(
        ("fields", "field"),
        [
            ({}, "indicators"),
            ({"indicators": ["Nothing"]}, "indicators"),
            ({"indicators": ["Median age"], "subjects": ["Atlantis"]}, "subjects.0"),
            ({"indicators": ["Median age"], "steps": [{"op": "no"}]}, "steps.0"),
            (
                {"indicators": ["Median age"], "steps": [{"op": "ratio"}]},
                "steps.0",
            ),
        ],
    )
    def test_names_the_field_that_is_wrong(
        self, client: FlaskClient, fields: dict[str, Any], field: str
    ) -> None:
        assert fields_of(client.post("/api/figures/query", json=fields)) == [field]

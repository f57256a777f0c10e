"""60 queries of figures over excerpts of the sample reports, with right answers that
were computed from the reports' text by other means: through the API, MCP and the
command line.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from flask import Flask

from chatbot.app.cli.figures import figures
from chatbot.domain.callers import ANYBODY
from chatbot.extras.protocols.toolbox import ReadFigures, Toolbox
from chatbot.library.derived import default_glossary
from tests.app.web.knowledge import added
from tests.app.web.live import application
from tests.conftest import small_settings
from tests.data import cases

REPORTS = Path(__file__).parents[3] / "sample_data" / "country_reports"
COUNTRIES = (
    "Colombia",
    "Egypt",
    "Kenya",
    "Mali",
    "Nepal",
    "Nigeria",
    "Peru",
    "Ukraine",
)
HEADINGS = (
    "Population|Area|Median age|Exports|Imports|Physician density|Elevation|"
    "Life expectancy at birth|Total fertility rate"
)
QUERIES: Sequence[Mapping[str, Any]] = cases(__file__)["queries"]
ON_THE_COMMAND_LINE = QUERIES[::10]
Json = dict[str, Any]
Compute = Callable[[Json], Json]


def excerpt(country: str, edition: int) -> str:
    """Return a sample report with the headings that the queries ask for."""
    text = (REPORTS / f"{country.lower()}-{edition}.md").read_text(encoding="utf-8")
    sections = re.findall(rf"^### (?:{HEADINGS})\n\n.*?(?=^##|\Z)", text, re.M | re.S)
    return f"# {country}: Country Report {edition}\n\n## Figures\n\n{''.join(sections)}"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    with application(small_settings(tmp_path_factory.mktemp("data"))) as made:
        glossary = made.extensions["services"].storage.glossary
        glossary.put("", default_glossary())
        client = made.test_client()
        for country in COUNTRIES:
            for edition in (2021, 2025):
                file = (f"{country}-{edition}.md", excerpt(country, edition))
                added(client, file, country_name=country, year=str(edition))
        yield made


def by_api(app: Flask) -> Compute:
    def compute(query: Json) -> Json:
        response = app.test_client().post("/api/figures/query", json=query)
        found: Json = response.get_json()
        assert response.status_code == 200, found
        return found

    return compute


def by_mcp(app: Flask) -> Compute:
    toolbox = Toolbox(app.extensions["services"], ANYBODY)
    return lambda query: toolbox.read_figures(ReadFigures(query=query))


def by_command(app: Flask) -> Compute:
    settings = app.extensions["services"].settings

    def compute(query: Json) -> Json:
        arguments = [*query["indicators"], "--json"]
        for name in ("subjects", "years", "editions"):
            for value in query.get(name, ()):
                arguments += [f"--{name[:-1]}", str(value)]
        for step in query.get("steps", ()):
            fields = [step["op"]]
            for name, value in step.items():
                if name != "op":
                    fields.append(f"{name}='{value}'")
            arguments += ["--step", " ".join(fields)]
        found = CliRunner().invoke(figures, arguments, obj=settings)
        assert found.exit_code == 0, found.output
        result: Json = json.loads(found.output)
        return result

    return compute


def check(case: Mapping[str, Any], found: Json) -> None:
    """Compare a table with the right one, in its order; every cell has a passage."""
    rows = {row["subject"]: row["cells"] for row in found["rows"]}
    values = {}
    for subject, cells in rows.items():
        values[subject] = [cell and cell["value"] for cell in cells]
        assert all(cell["citations"] for cell in cells if cell)
    wanted = {
        subject: [value if value is None else pytest.approx(value) for value in cells]
        for subject, cells in case["rows"].items()
    }
    assert values == wanted
    steps = case["query"].get("steps", ())
    if any(step["op"] == "rank" for step in steps):
        assert list(values) == list(wanted)
    if any(step["op"] == "count" for step in steps):
        assert found["counted"] == len(wanted)


@pytest.mark.parametrize("by", [by_api, by_mcp])
@pytest.mark.parametrize("case", QUERIES, ids=lambda case: json.dumps(case["query"]))
def test_is_computed_rightly(
    app: Flask, case: Mapping[str, Any], by: Callable[[Flask], Compute]
) -> None:
    check(case, by(app)(case["query"]))


@pytest.mark.parametrize("case", ON_THE_COMMAND_LINE)
def test_is_computed_rightly_on_the_command_line(
    app: Flask, case: Mapping[str, Any]
) -> None:
    check(case, by_command(app)(case["query"]))


@pytest.mark.parametrize(
    ("question", "said", "cited"),
    [
        ("How many feet are 3 miles?", "3 miles = 15,840 feet", 0),
        ("Height of Hombori Tondo in feet", "1,155 m (2025 edition) = 3,789 feet", 1),
    ],
)
def test_a_question_for_another_unit_names_no_country(
    app: Flask, question: str, said: str, cited: int
) -> None:
    answer = app.test_client().post("/query", json={"query": question}).get_json()
    assert said in answer["response"]
    assert answer["answered"]
    assert len(answer["citations"]) >= cited

"""After an answer from a country report its figures are asked on, and not what stands
around them in the report.
"""

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

from tests.app.web.knowledge import add_countries
from tests.app.web.live import application
from tests.conftest import small_settings

REPORT = """# {name}: Country Report 2025

## Geography

### Geographic coordinates

1 00 N, 38 00 E

### Map references

A map of the world

### Area

**total:** {area} sq km

### Coastline

{coast} km

## People and Society

### Population

**total:** {people} (2025 est.)

### Median age

**total:** {age} years (2025 est.)
"""
NUMBERS = {
    "Kenya": ("580,367", "536", "58,246,378", "21.2"),
    "Peru": ("1,285,216", "2,414", "32,600,249", "30.2"),
    "Mali": ("1,240,192", "0", "21,990,607", "16.4"),
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    folder = tmp_path_factory.mktemp("data")
    with application(small_settings(folder, embedding_provider="minilm")) as made:
        add_countries(
            made,
            {
                name: REPORT.format(
                    name=name, area=area, coast=coast, people=people, age=age
                )
                for name, (area, coast, people, age) in NUMBERS.items()
            },
        )
        yield made.test_client()


@pytest.mark.parametrize(
    "question", ["What is the population of Kenya?", "How large is Kenya?"]
)
def test_figures_are_suggested_first(client: FlaskClient, question: str) -> None:
    answer = client.post("/query", json={"query": question}).get_json()
    chunk_id = answer["citations"][0]["chunk_id"]
    found = client.get(
        f"/api/chunks/{quote(chunk_id)}/further",
        query_string={"q": question, "indicator": answer["card"]["indicators"][0]},
    )
    suggested = [one["question"] for one in found.get_json()["questions"]]
    assert len(suggested) == 3
    for text in suggested:
        assert text.startswith("What is Kenya's")
        assert "coordinates" not in text
        assert "map references" not in text

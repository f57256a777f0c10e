"""Of a figure with parts the one that is asked is stated; of a question with two parts
each is answered; and what a series lacks is said.
"""

from collections.abc import Iterator

import pytest
from flask import Flask

from tests.app.web.knowledge import add_countries
from tests.app.web.live import application
from tests.app.web.test_messages_that_ask_nothing import last_answer, said
from tests.conftest import small_settings

REPORT = """# Kenya: Country Report 2025

## People and Society

### Literacy

**total population:** 82.6% (2021)

**male:** 85.5% (2021)

**female:** 79.8% (2021)

### Age structure

**0-14 years:** 35.8% (2024 est.)

**15-64 years:** 60.9% (2024 est.)

**65 years and over:** 3.3% (2024 est.)

### Population

**total:** 58,246,378 (2024 est.)

## Economy

### Inflation rate (consumer prices)

**Inflation rate 2024:** 4.5% (2024 est.)

**Inflation rate 2023:** 7.7% (2023 est.)

## The county

### Water trust

In 2024 the trust repaired 88 pumps and trained 45 mechanics. Donors were two
foundations.
"""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    folder = tmp_path_factory.mktemp("data")
    with application(small_settings(folder, embedding_provider="minilm")) as made:
        add_countries(made, {"Kenya": REPORT})
        yield made


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is the literacy rate of Kenyan women?", "79.8%"),
        ("What is the literacy rate of men in Kenya?", "85.5%"),
        ("What is the literacy rate in Kenya?", "82.6%"),
    ],
)
def test_who_names_a_part_does_not_ask_for_the_whole(
    app: Flask, question: str, text: str
) -> None:
    card = last_answer(app, [question], "en")["card"]
    assert [figure["text"] for figure in card["figures"]] == [text]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What share of Kenya's population is under 15?", "0-14 years: 35.8%"),
        ("What share of the people of Kenya is 15 or older?", "64.2%"),
        ("What share of Kenyans is older than 64?", "65 years and over: 3.3%"),
    ],
)
def test_a_share_of_some_age_is_that_of_its_age_groups(
    app: Flask, question: str, answer: str
) -> None:
    assert answer in said(app, [question])


def test_a_series_says_that_it_begins_later_than_asked(app: Flask) -> None:
    text = said(app, ["How did Kenya's inflation change since 2010?"])
    assert text.endswith("No figures from before 2023 were found.")
    text = said(app, ["How did Kenya's inflation change since 2023?"])
    assert "No figures" not in text


def test_the_second_part_is_answered_by_a_passage_of_the_first(app: Flask) -> None:
    question = (
        "How many pumps were repaired and how many mechanics were trained by the "
        "Water Trust?"
    )
    _, _, second = said(app, [question]).partition("**How many mechanics")
    assert "trained 45 mechanics" in second

"""How models cite beside [1], as citations; what is no citation of ours is text."""

import pytest

from chatbot.checking.references import tidy
from chatbot.domain import Chunk, Context, Passage, SearchHit


def passage(number: int, country: str, year: int, section: str, page: int) -> Passage:
    chunk = Chunk(
        id=f"{country}-{year}-{section}",
        document_id=f"{country}-{year}",
        document_name=f"{country}-{year}.pdf".lower(),
        title=f"{country}: Country Report {year}",
        section=section,
        text="Words of the report.",
        page=page,
        ordinal=number,
        metadata={"country_name": country, "year": year},
    )
    return Passage(number, SearchHit(chunk, rank=number), chunk.text)


CONTEXT = Context(
    (
        passage(1, "Kenya", 2023, "Economy", 4),
        passage(2, "Mali", 2021, "Economy", 7),
        passage(3, "Mali", 2021, "People", 2),
    )
)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("It grew [Kenya: Country Report 2023].", "It grew [1]."),
        ("It grew [Kenya: Country Report 2023, page 4].", "It grew [1]."),
        ("It fell [Mali: Country Report 2021, People].", "It fell [3]."),
        ("It fell [Mali: Country Report 2021].", None),
        ("It fell [Chad: Country Report 2021].", None),
        (
            "It grew<sup>1</sup> and fell<sup>2, 3</sup>.",
            "It grew [1] and fell [2, 3].",
        ),
        ("It grew <sup>[1]</sup>, as [2] says.", "It grew [1], as [2] says."),
        ("10<sup>3</sup> of them, 5 km<sup>2</sup>.", None),
        ("It grew<sup>2</sup> as [1] says.", None),
        ("See [the site](https://example.org/x) [1].", "See the site [1]."),
        ("It grew [[1]](https://example.org).", "It grew [1]."),
        (
            "It grew [1].\n\nReferences:\n[1] Kenya: Country Report 2023, p. 4\n"
            "[2] Mali: Country Report 2021",
            "It grew [1].",
        ),
        (
            "Creció [1].\n\n## Fuentes\n\n- [1] Kenya: Country Report 2023, Economy",
            "Creció [1].",
        ),
        ("Both:\n\n1. Kenya: Country Report 2023\n2. Mali: Country Report 2021", None),
        ("It grew [1].\n\n[1] Kenya grew by more than all of its neighbours.", None),
    ],
)
def test_sources_of_a_model_become_citations(written: str, read: str | None) -> None:
    assert tidy(written, CONTEXT) == (read or written)

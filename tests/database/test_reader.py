"""What a limited reader gives of a report whose rows, of another system, are of several
types.
"""

from collections.abc import Iterator

import numpy as np
import pytest

from chatbot.app.services import Services, build
from chatbot.app.services.library import Library
from chatbot.config.settings import Settings
from chatbot.database import open_database
from chatbot.domain import Caller, Scope
from chatbot.domain.errors import ForbiddenError, NotFoundError
from chatbot.domain.scope import Values
from chatbot.models.embed.hashing import HashingEmbedder
from tests.rows import outside

TEXTS = {"open": "tea was sold", "secret": "camels were sold"}
OPEN = Scope.of({"type": Values(("open",))})


@pytest.fixture
def services(settings: Settings) -> Iterator[Services]:
    embedder = HashingEmbedder(256)
    database = open_database(settings)
    for number, (kind, text) in enumerate(TEXTS.items()):
        row = {
            "_id": f"row{number}",
            "document_name": "kenya.pdf",
            "country_name": "Kenya",
            "type": kind,
            "year": 2023,
            "document_title": "Trade",
            "document_page_number": number,
            "data": text,
            "data_embedding": embedder.embed_query(text).tolist(),
        }
        outside(database, "report_chatting").insert_one(row)
    database.close()
    with build(settings) as opened:
        yield opened


def library(services: Services) -> Library:
    return Library(services, Caller(role="admin", limit=OPEN))


def test_a_report_is_given_in_its_parts_inside(services: Services) -> None:
    [whole] = services.readers.everything().documents.all()
    assert (whole.chunks, len(whole.parts)) == (2, 2)
    [part] = library(services).reader.documents.all()
    assert (part.chunks, part.part_of) == (1, 2)
    assert part.metadata["type"] == "open"
    values = library(services).reader.documents.values("type")
    assert values == ["open"]


def test_passages_are_given_one_by_one(services: Services) -> None:
    passages = library(services).reader.passages
    assert [chunk.text for chunk in passages.get(["row0", "row1"])] == ["tea was sold"]
    assert passages.count(Scope()) == 1
    camels = np.asarray(HashingEmbedder(256).embed_query("camels were sold"))
    for scope in (Scope(), Scope.of({"type": Values(("secret",))})):
        near = passages.vector_search(camels, top_k=5, scope=scope)
        worded = passages.keyword_search("camels sold", top_k=5, scope=scope)
        assert "row1" not in {match.chunk_id for match in (*near, *worded)}


def test_a_word_that_others_have_weighs_as_one_that_nobody_has(
    services: Services,
) -> None:
    passages = library(services).reader.passages
    scores = [
        passages.keyword_search(query, top_k=5, scope=Scope())[0].score
        for query in ("tea", "tea camels", "tea xyzzy")
    ]
    assert scores[0] == scores[1] == scores[2]


def test_neither_original_nor_change_of_a_report_in_parts(services: Services) -> None:
    mine = library(services)
    [part] = mine.reader.documents.all()
    with pytest.raises(NotFoundError, match="some parts"):
        mine.original(part)
    with pytest.raises(ForbiddenError, match="some parts"):
        mine.own_record(part.id)
    assert not mine.may_change(part)

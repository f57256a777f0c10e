"""Ids and embeddings in every form that a collection may hold them in (R-D7)."""

from typing import Any

import numpy as np
import pytest
from bson import ObjectId
from bson.binary import Binary, BinaryVectorDtype

from chatbot.config.settings import Settings
from chatbot.database import open_database
from chatbot.database.rows import decode_vector, encode_payload, id_forms, usable_vector
from chatbot.domain import Vector
from chatbot.domain.errors import DatabaseError


def test_an_id_that_may_be_an_object_id_is_looked_up_in_both_forms() -> None:
    text = "0123456789abcdef01234567"
    assert id_forms([text, "d1-v1-00001"]) == [text, ObjectId(text), "d1-v1-00001"]
    assert id_forms([]) == []


VECTOR: Vector = np.asarray([0.1, -0.25, 3e-8, 1.0, -1.0], dtype=np.float32)
FORMS = {
    "BSON vector": Binary.from_vector(VECTOR.tolist(), BinaryVectorDtype.FLOAT32),
    "our payload": Binary(encode_payload(VECTOR), 9),
    "payload without its subtype": bytes(encode_payload(VECTOR)),
    "bare floats": VECTOR.astype("<f4").tobytes(),
    "bytearray": bytearray(encode_payload(VECTOR)),
    "array of doubles": [float(value) for value in VECTOR],
    "tuple": tuple(float(value) for value in VECTOR),
}


@pytest.mark.parametrize("stored", FORMS.values(), ids=FORMS)
def test_every_stored_form_is_read(stored: Any) -> None:
    found = decode_vector(stored)
    assert found.dtype == np.float32
    assert np.array_equal(found, VECTOR)
    assert decode_vector([1, 0, -1]).dtype == np.float32
    assert usable_vector(stored, len(VECTOR)) is not None


def test_the_payload_is_what_the_driver_itself_writes() -> None:
    assert encode_payload(VECTOR) == bytes(
        Binary.from_vector(VECTOR.tolist(), BinaryVectorDtype.FLOAT32)
    )


@pytest.mark.parametrize(
    "stored", [None, "0.1,0.2", 5, {"a": 1}, b"abc", ["a"], [[1.0]]], ids=repr
)
def test_what_is_no_vector_is_an_error_with_a_remedy(stored: Any) -> None:
    with pytest.raises(DatabaseError, match="ingest the document again"):
        decode_vector(stored)
    assert usable_vector(stored, 5) is None
    assert usable_vector([1.0, 2.0], 5) is None
    assert usable_vector([float("nan")] * 5, 5) is None
    assert usable_vector([0.0] * 5, 5) is None


@pytest.mark.parametrize("dimensions", [1, 2, 384, 1536])
def test_a_round_trip_through_the_embedded_database_is_exact(
    settings: Settings, dimensions: int
) -> None:
    vector = (
        np.random.default_rng(dimensions).standard_normal(dimensions).astype(np.float32)
    )
    database = open_database(settings)
    database["rows"].insert_one(
        {"_id": "a", "binary": database.encode_vector(vector), "array": vector.tolist()}
    )
    found = database["rows"].find_one({"_id": "a"})
    database.close()
    assert found is not None
    assert np.array_equal(decode_vector(found["binary"]), vector)
    assert np.array_equal(decode_vector(found["array"]), vector)

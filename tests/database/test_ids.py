"""Ids of an older system are ObjectIds in the database and strings outside."""

from __future__ import annotations

from bson import ObjectId

from chatbot.database import id_forms


def test_an_id_that_may_be_an_object_id_is_looked_up_in_both_forms() -> None:
    text = "0123456789abcdef01234567"
    assert id_forms([text, "d1-v1-00001"]) == [text, ObjectId(text), "d1-v1-00001"]
    assert id_forms([]) == []

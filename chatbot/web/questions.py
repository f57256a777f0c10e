"""Around a question: the scope it would add while it is written, and suggestions after its answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flask import Blueprint, Response, jsonify, request

from ..errors import InvalidRequestError
from ..repositories.request_cache import request_cache
from ..retrieval.further import further_questions
from ..retrieval.scope import summarise
from ..schema import Scope, SearchHit
from ..serialization import scope_json
from ..text import evenly_spaced
from .library import library, query_scope
from .services import require_samples, services

questions = Blueprint("questions", __name__)
LONGEST = 2_000
"""Characters of a question that are looked at."""
LOOKED_AT = 8
"""Passages found for a question to go on with."""


@questions.get("/api/scope")
@request_cache()
def scope() -> Response:
    """How much is in the scope, and what of it the question ``q`` would add: what its answer would take from it."""
    chosen, asked, found = query_scope(leave_out=("q",)), _asked(), services()
    taken = found.answering.understanding.taken_from(asked, chosen) if asked and found.settings.auto_scope else Scope()
    summary = summarise(found.storage.documents, chosen.and_(taken))
    return jsonify(scope_json(replace(summary, from_question=taken)))


@questions.get("/api/chunks/<path:chunk_id>/further")
@request_cache()
def further(chunk_id: str) -> Response:
    """What to ask after the answer to ``q`` that rests on this passage. Raises NotFoundError."""
    require_samples()
    chosen, asked, cited = query_scope(leave_out=("q",)), _asked(), library().passage(chunk_id)
    retriever = services().answering.retriever()

    def search(words: str, inside: Scope) -> Sequence[SearchHit]:
        return retriever.retrieve(words, top_k=LOOKED_AT, scope=inside, method="bm25").hits

    found = further_questions(cited, asked, chosen, services().storage.documents, search)
    return jsonify({"questions": [{"question": one.question, "filters": one.scope.to_json()} for one in found]})


def _asked() -> str:
    text = request.args.get("q", "")
    if len(text) > LONGEST:
        raise InvalidRequestError.for_field("q", f"must have at most {LONGEST} characters.")
    return evenly_spaced(text.strip())

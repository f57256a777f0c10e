"""What people think of answers; for the operator what is wrong with them, and what the reports did not answer."""

from __future__ import annotations

from dataclasses import asdict
from typing import get_args

from flask import Blueprint, Response, jsonify

from ..repositories.feedback import Rating
from ..validation import parse
from .access import caller, whose
from .bodies import FeedbackRequest
from .request import json_object, query_choice, query_number
from .services import services

feedback = Blueprint("feedback", __name__)
PAGE, MOST = 50, 500
RATINGS: tuple[Rating, ...] = get_args(Rating)


@feedback.post("/api/messages/<message_id>/feedback")
def rate(message_id: str) -> Response:
    """Say what one's own answer is like: up, down, or null, which takes it back."""
    given, found = parse(FeedbackRequest, json_object()), services().storage.feedback
    if given.rating is None:
        found.remove(message_id, caller().owner)
        return jsonify({"message_id": message_id, "rating": None, "reason": None, "comment": ""})
    kept = found.put(message_id, caller().owner, given.rating, given.reason or "", given.comment)
    return jsonify({"message_id": message_id, **kept.to_json()})


@feedback.get("/api/feedback")
def latest() -> Response:
    """Everybody's for an administrator's key, else the caller's own; the newest first."""
    limit, rating = query_number("limit", PAGE, least=1, most=MOST), query_choice("rating", RATINGS, None)
    found = services().storage.feedback.latest(rating, limit, whose())
    return jsonify({"feedback": [{**asdict(one.asked), **one.to_json()} for one in found]})


@feedback.get("/api/unanswered")
def unanswered() -> Response:
    """The latest questions that the reports did not answer; whose, as of feedback."""
    found = services().storage.feedback.unanswered(query_number("limit", PAGE, least=1, most=MOST), whose())
    return jsonify({"questions": [asdict(asked) for asked in found]})

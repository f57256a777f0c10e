"""Errors to responses: our tree to status codes, JSON for programs, a page for browsers; never a stack trace."""

from __future__ import annotations

import logging
from typing import Any

from flask import Flask, Response, g, jsonify, make_response, render_template, request
from werkzeug.exceptions import HTTPException

from ..errors import (
    BudgetExhaustedError,
    CancelledError,
    ChatbotError,
    ConflictError,
    DependencyError,
    EmbedderMismatchError,
    ForbiddenOriginError,
    IngestingError,
    InvalidRequestError,
    LoadError,
    NotFoundError,
)

log = logging.getLogger(__name__)

STATUS: tuple[tuple[type[ChatbotError], int], ...] = (
    (InvalidRequestError, 400),
    (ForbiddenOriginError, 403),
    (NotFoundError, 404),
    (LoadError, 422),
    (BudgetExhaustedError, 429),
    (ConflictError, 409),
    (CancelledError, 409),
    (IngestingError, 503),
    (EmbedderMismatchError, 503),
    (DependencyError, 503),
)
HTTP_CODES = {
    400: "invalid_request",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    415: "unsupported_media_type",
    429: "too_many_requests",
}


def status_of(error: ChatbotError) -> int:
    return next((status for kind, status in STATUS if isinstance(error, kind)), 500)


def error_body(error: ChatbotError) -> dict[str, Any]:
    return _body(error.code, error.message, error.details)


def unexpected(error: BaseException) -> ChatbotError:
    """A bug: logged with its trace and the request id, told to the client without either."""
    log.error("Unexpected error in request %s", _request_id(), exc_info=error)
    return ChatbotError("Something went wrong here. The request id helps to find it in the log.")


def register_error_handlers(app: Flask) -> None:
    @app.errorhandler(ChatbotError)
    def known(error: ChatbotError) -> Response:
        status = status_of(error)
        if status >= 500:
            log.warning("Request %s: %s", _request_id(), error.message)
        response = _respond(error_body(error), status)
        if (retry_after := getattr(error, "retry_after", None)) is not None:
            response.headers["Retry-After"] = str(retry_after)
        return response

    @app.errorhandler(HTTPException)
    def http(error: HTTPException) -> Response:
        status = error.code or 500
        response = _respond(_body(HTTP_CODES.get(status, "http_error"), error.description or error.name, []), status)
        # What belongs to the status: Allow, Retry-After, ...
        response.headers.update({k: v for k, v in error.get_headers() if k.lower() != "content-type"})
        return response

    @app.errorhandler(Exception)
    def bug(error: Exception) -> Response:
        return _respond(error_body(unexpected(error)), 500)


def _body(code: str, message: str, details: list[dict[str, Any]]) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "details": details, "request_id": _request_id()}}


def _request_id() -> str:
    return str(g.get("request_id", "")) if g else ""


def _respond(body: dict[str, Any], status: int) -> Response:
    wants_page = request.method == "GET" and request.accept_mimetypes.best == "text/html"
    if wants_page and not request.path.startswith("/api"):
        page = render_template("error.html", status=status, message=body["error"]["message"])
        return make_response(page, status)
    return make_response(jsonify(body), status)

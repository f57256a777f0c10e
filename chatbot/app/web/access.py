"""Check the role that a route needs, return the part of the library that the caller
sees, and record changes in the audit log.
"""

import logging

from flask import Response, g, request

from ...domain import Scope
from ...domain.errors import DatabaseError, ForbiddenError, UnauthorizedError
from ..services.activity import Activity
from ..services.library import Library
from .callers import caller, whose
from .routes import (
    COLLECTIONS,
    REPEATED,
    ScopeQuery,
    current_route,
    query_filters,
    services,
)

log = logging.getLogger(__name__)


def require_role() -> None:
    """Raise UnauthorizedError or ForbiddenError if the caller lacks the role that the
    current request needs.
    """
    route = current_route()
    if route is None or route.need == "nothing" or (who := caller()).may(route.need):
        return
    if (person := g.get("person")) is not None and who.key is None:
        raise ForbiddenError(
            f"You are signed in as {person.name}, but none of your groups has "
            "access here."
        )
    if who.key is None:
        remedy = "send Authorization: Bearer KEY, or sign in on the page."
        raise UnauthorizedError(
            f"This action needs a key with the role {route.need}: {remedy}"
        )
    if person is not None:
        raise ForbiddenError(
            f"You have the role {who.role}; this action needs the role {route.need}."
        )
    raise ForbiddenError(
        f"This key has the role {who.role}; this action needs the role {route.need}."
    )


def finish_request(response: Response) -> None:
    """State the caller's rate limit in the headers, and record a change of the library
    in the audit log.
    """
    response.headers.update(
        {name: str(value) for name, value in g.get("rate_limit", {}).items()}
    )
    route = current_route()
    if route is None or route.need != "write" or response.status_code >= 400:
        return
    if REPEATED in response.headers:
        return
    ids = (request.view_args or {}).values()
    who = caller()
    rule = request.url_rule
    target = " ".join(ids) or (response.location or "").rpartition("/")[2]
    try:
        services().storage.audit.record(
            f"{request.method} {rule}", target, who.identity
        )
    except DatabaseError as error:  # the change is made
        log.error(
            "The audit log lacks %s %s: %s", request.method, request.path, error.message
        )


def library() -> Library:
    return Library(services(), caller())


def activity() -> Activity:
    """Return what the caller may see and change of jobs, questions, feedback, usage and
    keys.
    """
    return library().activity(whose())


def require_everything() -> None:
    """Raise ForbiddenError: the caller is limited to a part of the reports, and this is
    about the whole installation.
    """
    activity().require_everything()


def query_scope(query: ScopeQuery) -> Scope:
    """Return the scope that the query string names. Raises InvalidRequestError."""
    collections = request.args.getlist(COLLECTIONS) or None
    return library().scopes.resolve(
        query_filters(query), collections=collections, prefix=""
    )

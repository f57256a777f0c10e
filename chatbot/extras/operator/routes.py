"""What an administrator looks after: API keys, usage, questions without an answer and
bad answers, the findings of the doctor, and the settings as they are; and the page that
shows them.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from flask import Response, make_response, render_template
from pydantic import Field, SecretStr, StringConstraints
from typing_extensions import TypedDict

from ...app.findings import Finding
from ...app.web.access import activity, library, require_everything
from ...app.web.asking import Filter
from ...app.web.callers import caller
from ...app.web.cookies import with_owner
from ...app.web.routes import (
    PAGE,
    Body,
    Number,
    Query,
    Views,
    answer_type,
    page_size,
    services,
)
from ...database.core import Json
from ...database.repositories.access import BrowserSession
from ...database.repositories.answers import Asked, Feedback, Rating
from ...domain import ApiKey
from ...domain.callers import KeyRole
from ...domain.costs import UsageReport
from ...domain.json import Inlines
from ...domain.validation import NOT_BLANK
from .doctor import diagnose

operator = Views("operator", __name__)
HIDDEN = "**********"
"""Stands for a secret, as pydantic shows it."""


class NewKey(Body):
    """A key as it is to be; nothing wider than the key that creates it."""

    name: Annotated[
        str, StringConstraints(strip_whitespace=True, pattern=NOT_BLANK, max_length=100)
    ]
    role: KeyRole = "read"
    filters: dict[str, Filter] = Field(
        default_factory=dict, description="It sees only these, as in a request."
    )
    collections: list[str] | None = Field(
        None, max_length=300, description="It sees only these."
    )
    daily_tokens: int | None = Field(
        None, ge=1, description="Tokens of the chat model in a day (UTC)."
    )
    requests_per_minute: int | None = Field(
        None, ge=1, description="In place of REQUESTS_PER_MINUTE."
    )


class Setting(TypedDict):
    """A setting as it is now; secrets are hidden."""

    name: str
    value: str
    is_default: bool


@dataclass(frozen=True, slots=True)
class ListedKey(Inlines):
    """A key, and what the conversations that it owns have used: those that were
    deleted, and questions outside of a conversation, are not counted.
    """

    INLINED: ClassVar = ("key",)
    key: ApiKey
    questions: int
    tokens: int


@operator.get(
    "/api/keys", need="admin", returns=answer_type("Keys", keys=list[ListedKey])
)
def list_keys() -> Json:
    """List the API keys without their secrets, the newest first; revoked ones, too. A
    limited key sees those that are not wider than itself.
    """
    keys = activity().keys()
    usage = activity().usage_of(keys)
    listed = []
    for key in keys:
        sums = usage[key.owner]
        listed.append(ListedKey(key, sums.questions, sums.usage.tokens))
    return {"keys": listed}


@operator.post(
    "/api/keys",
    need="admin",
    returns=answer_type("CreatedKey", key=ApiKey, secret=str),
    shown_once="secret",
    example={"name": "Nairobi office"},
)
def create_key(body: NewKey) -> Json:
    """Create an API key. This answer alone has its secret: only a digest is stored."""
    who = caller()
    storage = services().storage
    scope = library().scopes.resolve(body.filters, None, body.collections, for_key=True)
    tokens, requests = (
        (who.daily_tokens, who.key.requests_per_minute) if who.key else (None, None)
    )
    key, secret = activity().create_key(
        body.name,
        body.role,
        scope,
        daily_tokens=_least(body.daily_tokens, tokens),
        requests_per_minute=_least(body.requests_per_minute, requests),
    )
    storage.audit.record("keys create", f"{key.id} ({key.role})", who.identity)
    return {"key": key, "secret": secret}


def _least(limit: int | None, most: int | None) -> int | None:
    return min((each for each in (limit, most) if each is not None), default=None)


@operator.delete("/api/keys/<key_id>", need="admin", status=204)
def revoke_key(key_id: str) -> None:
    """Revoke an API key at once, with the links that it shared; what was made with it
    stays. A limited key revokes those that are not wider than itself.
    """
    who = caller()
    revoked = activity().revoke_key(key_id)
    storage = services().storage
    storage.audit.record("keys revoke", revoked.id, who.identity)
    for owner, record in storage.conversations.links():
        if owner == revoked.owner:
            storage.conversations.revoke(record.id, owner)


@operator.get(
    "/api/sessions",
    need="admin",
    returns=answer_type("Sessions", sessions=list[BrowserSession]),
)
def list_sessions() -> Json:
    """List the browsers that are signed in, with a key or as a person, the newest
    first.
    """
    require_everything()
    return {"sessions": services().storage.sessions.all()}


@operator.delete("/api/sessions/<session_id>", need="admin", status=204)
def end_session(session_id: str) -> None:
    """Sign a browser out at once; its key stays valid."""
    require_everything()
    who = caller()
    services().storage.sessions.end(session_id)
    services().storage.audit.record("sessions end", session_id, who.identity)


@operator.get(
    "/api/doctor", need="admin", returns=answer_type("Findings", findings=list[Finding])
)
def run_doctor() -> Json:
    """Check the installation, as `python -m chatbot doctor` does. It asks the models,
    and may take some seconds.
    """
    require_everything()
    return {"findings": list(diagnose(services()))}


@operator.get(
    "/api/settings",
    need="admin",
    returns=answer_type("SettingsInForce", settings=list[Setting]),
)
def list_settings() -> Json:
    """List the settings as they are. They are changed in the environment or in
    `.env`.
    """
    require_everything()
    settings = services().settings
    shown = list[Setting]()
    for name, field in type(settings).model_fields.items():
        value: Any = getattr(settings, name)
        if isinstance(value, SecretStr) or (name.endswith("url") and "@" in str(value)):
            text = HIDDEN
        elif isinstance(value, tuple):
            text = ", ".join(
                ": ".join(map(str, one)) if isinstance(one, tuple) else str(one)
                for one in value
            )
        else:
            text = "" if value is None else str(value)
        shown.append(
            {"name": name.upper(), "value": text, "is_default": value == field.default}
        )
    return {"settings": shown}


class UsageQuery(Query):
    days: Number = Field(30, ge=1, le=366, description="Maximum number of days.")


@operator.get("/api/usage", need="admin")
def get_usage(query: UsageQuery) -> UsageReport:
    """Get questions, calls, tokens and costs by day (UTC), the newest first, and in
    all.

    Days without use are left out.
    """
    return UsageReport.of(activity().usage(query.days))


class UnansweredQuery(Query):
    limit: Number = page_size(50, 500)


class FeedbackQuery(UnansweredQuery):
    rating: Annotated[
        Rating | None, Field(description="Only feedback with this rating.")
    ] = None


@operator.get(
    "/api/feedback",
    need="admin",
    returns=answer_type("AllFeedback", feedback=list[Feedback]),
)
def list_feedback(query: FeedbackQuery) -> Json:
    """List the newest feedback: everybody's for an administrator's key, else the
    caller's own.
    """
    return {"feedback": activity().feedback(query.rating, query.limit)}


@operator.get(
    "/api/unanswered",
    need="admin",
    returns=answer_type("Unanswered", questions=list[Asked]),
)
def list_unanswered(query: UnansweredQuery) -> Json:
    """List the latest questions that the reports did not answer: everybody's, or the
    caller's own.
    """
    return {"questions": activity().unanswered(query.limit)}


@operator.get("/operator", about=PAGE)
def show_page() -> Response:
    """Show the page of administrators; the data that it loads need the role admin."""
    is_local = services().settings.is_local
    page = render_template("operator.html", is_local=is_local)
    return with_owner(make_response(page))

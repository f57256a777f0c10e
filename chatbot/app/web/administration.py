"""What an administrator looks after: API keys, the findings of the doctor, and the
settings as they are.
"""

from typing import Annotated, Any

from pydantic import Field, SecretStr, StringConstraints
from typing_extensions import TypedDict

from ...database.core import Json
from ...domain import ApiKey
from ...domain.callers import KeyRole
from ...domain.validation import NOT_BLANK
from ..doctor import Finding, diagnose
from .access import activity, library, require_everything
from .asking import Filter
from .callers import caller
from .routes import Body, Views, answer_type, services

administration = Views("administration", __name__)
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


@administration.get(
    "/api/keys", need="admin", returns=answer_type("Keys", keys=list[ApiKey])
)
def list_keys() -> Json:
    """List the API keys without their secrets, the newest first; revoked ones, too. A
    limited key sees those that are not wider than itself.
    """
    return {"keys": activity().keys()}


@administration.post(
    "/api/keys",
    need="admin",
    returns=answer_type("CreatedKey", key=ApiKey, secret=str),
    example={"name": "Nairobi office"},
)
def create_key(body: NewKey) -> Json:
    """Create an API key. This answer alone has its secret: only a digest is stored."""
    who, storage = caller(), services().storage
    scope = library().scopes.resolve(body.filters, None, body.collections)
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
    storage.audit.record(
        "keys create", f"{key.id} ({key.role})", who.owner or who.account
    )
    return {"key": key, "secret": secret}


def _least(limit: int | None, most: int | None) -> int | None:
    return min((each for each in (limit, most) if each is not None), default=None)


@administration.delete("/api/keys/<key_id>", need="admin", status=204)
def revoke_key(key_id: str) -> None:
    """Revoke an API key at once; what was made with it stays. A limited key revokes
    those that are not wider than itself.
    """
    who, revoked = caller(), activity().revoke_key(key_id)
    services().storage.audit.record("keys revoke", revoked.id, who.owner or who.account)


@administration.get(
    "/api/doctor", need="admin", returns=answer_type("Findings", findings=list[Finding])
)
def run_doctor() -> Json:
    """Check the installation, as `python -m chatbot doctor` does. It asks the models,
    and may take some seconds.
    """
    require_everything()
    return {"findings": list(diagnose(services()))}


@administration.get(
    "/api/settings",
    need="admin",
    returns=answer_type("SettingsInForce", settings=list[Setting]),
)
def list_settings() -> Json:
    """List the settings as they are. They are changed in the environment or in
    `.env`.
    """
    require_everything()
    settings, shown = services().settings, list[Setting]()
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

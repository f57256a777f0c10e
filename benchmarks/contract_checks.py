"""Checks of schemathesis for `python -m benchmarks contract`, beside its own."""

from __future__ import annotations

import uuid

import schemathesis


@schemathesis.check
def says_what_is_wrong(
    ctx: schemathesis.CheckContext, response: schemathesis.Response, case: schemathesis.Case
) -> None:
    """A request of the right form that is refused all the same is told which field, and why."""
    if case.meta is None or not case.meta.generation.mode.is_positive or response.status_code != 400:
        return
    error = response.json()["error"]
    fields = [detail.get("field") for detail in error["details"]]
    assert fields, f"no field is named: {error}"
    assert all(fields), f"no field is named: {error}"


@schemathesis.hook
def filter_case(context: schemathesis.HookContext, case: schemathesis.Case) -> bool:
    """Headers that nobody has heard of are passed over, as HTTP has it: they make no request wrong."""
    return not any(name.startswith("x-schemathesis") for name in case.headers or {})


@schemathesis.hook
def before_call(context: schemathesis.HookContext, case: schemathesis.Case, kwargs: dict[str, object]) -> None:
    """A key of its own for each valid request: one of another request would hide all else that may be wrong."""
    if case.meta is not None and case.meta.generation.mode.is_positive and "Idempotency-Key" in (case.headers or {}):
        case.headers["Idempotency-Key"] = uuid.uuid4().hex

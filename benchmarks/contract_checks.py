"""Checks of schemathesis for `python -m benchmarks contract`, beside its own."""

from __future__ import annotations

import schemathesis


@schemathesis.check
def says_what_is_wrong(
    ctx: schemathesis.CheckContext,
    response: schemathesis.Response,
    case: schemathesis.Case,
) -> None:
    """A request of the right form that is refused all the same is told which field, and
    why.
    """
    if (
        case.meta is None
        or not case.meta.generation.mode.is_positive
        or response.status_code != 400
    ):
        return
    error = response.json()["error"]
    fields = [detail.get("field") for detail in error["details"]]
    assert fields, f"no field is named: {error}"
    assert all(fields), f"no field is named: {error}"


@schemathesis.hook
def filter_case(context: schemathesis.HookContext, case: schemathesis.Case) -> bool:
    """Headers that nobody has heard of are passed over, as HTTP has it: they make no
    request wrong.
    """
    return not any(name.startswith("x-schemathesis") for name in case.headers or {})

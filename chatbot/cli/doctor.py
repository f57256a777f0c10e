"""`doctor`: what is wrong with this installation, and how to mend it."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from ..doctor import Finding, diagnose
from ..services import Services

FINDINGS = 1
COLOURS = {"ok": "green", "warning": "yellow", "error": "red"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.pass_context
def doctor(context: click.Context, as_json: bool) -> None:
    """Check keys, server, collections, indexes and models; exit status 1 when something is wrong.

    Example: python -m chatbot doctor
    """
    services: Services = context.obj
    findings: list[Finding] = []
    for finding in diagnose(services):
        findings.append(finding)
        if not as_json:
            _print(finding)
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    context.exit(FINDINGS if any(finding.severity == "error" for finding in findings) else 0)


def _print(finding: Finding) -> None:
    label = click.style(f"{finding.severity:8}", fg=COLOURS[finding.severity])
    click.echo(f"{label}{finding.area:14}{finding.message}" + (f"  [{finding.name}]" if finding.remedy else ""))
    if finding.remedy:
        click.echo(f"{'':22}-> {finding.remedy}")

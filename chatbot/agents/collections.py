"""Which collections a question is searched in, chosen by the model from their descriptions (R-C5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..model_output.shapes import numbers
from ..retrieval.collections import chosen, selectable
from ..schema import StepEvent
from .run import Run


def routed(run: Run) -> Iterator[StepEvent]:
    """Narrows the question's scope to what the model chooses: one call, none where there is no choice.

    What the person allowed is never left, and a reply that cannot be read leaves it as it is.
    """
    scope, every = run.question.scope, run.parts.collections
    choice = selectable(every, scope.collections)
    if not choice or not run.parts.language_model:
        return
    described = "\n".join(f"{number}. {one.name}: {one.description}" for number, one in enumerate(choice, start=1))
    picked = yield from run.ask(
        "collections",
        numbers(len(choice)),
        "All collections are searched",
        collections=described,
        question=run.question.search_text,
    )
    if picked is None:
        return
    names = chosen(every, scope.collections, [choice[number - 1].name for number in picked])
    if scope.collections or len(names) < len(every):
        run.question = replace(run.question, scope=scope.within(names))
    yield run.step("collections", "Searched in", items=names)

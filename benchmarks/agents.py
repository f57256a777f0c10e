"""What each way to answer takes: ten questions over the sample reports, an ideal model
that is asked over HTTP.

The retrieval is the real one; the model's replies are made from its prompts
(`benchmarks.agent_questions`), and tokens are estimated from what was really sent. Run:
python -m benchmarks agents [--questions 10]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pydantic import SecretStr

from benchmarks.agent_questions import TASKS, IdealModel, Task
from benchmarks.loaded import answer, load_samples, throw_away
from chatbot.app.services import Services
from chatbot.domain import Answer, Question, Scope, StepEvent
from chatbot.questions.reading import read_names
from chatbot.questions.sides import sides
from tests.fakes.openai_server import CHAT, FakeOpenAI

MODES = ("direct", "deep", "chain", "auto", "compare", "report")
KEYLESS = ("direct", "deep", "auto", "compare")
HEAD = (
    "| mode | questions | rounds | searches | calls | the seed's calls | prompt "
    "tokens | completion tokens "
    "| embedding tokens | ms |"
)


@dataclass(frozen=True, slots=True)
class Row:
    """One answer. ``seed``: calls that the seed's design needs for the same, None where
    no seed does it.

    ``ms`` is without the steps that wait for the model.
    """

    rounds: int
    searches: int
    calls: int
    seed: int | None
    prompt: int
    completion: int
    embedding: int
    ms: float


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=int, default=len(TASKS))
    tasks = TASKS[: parser.parse_args().questions]
    with FakeOpenAI() as server:
        fake = {
            "openai_api_key": SecretStr("x"),
            "openai_base_url": server.url,
            "model_retries": 0,
        }
        with throw_away(
            summaries="off", cache_seconds=0, chat_model="openai:ideal", **fake
        ) as services:
            load_samples(services)
            table(
                services,
                tasks,
                MODES,
                lambda task: server.always(CHAT, IdealModel(task)),
            )
            print("\nWithout a language model:\n")
            with Services(
                services.settings.override(chat_model="extractive")
            ) as keyless:
                table(keyless, tasks, KEYLESS, lambda task: None)


def table(
    services: Services,
    tasks: Sequence[Task],
    modes: Sequence[str],
    begin: Callable[[Task], None],
) -> None:
    print(HEAD)
    print("|---" * HEAD.count(" |") + "|")
    catalog = services.storage.documents
    for mode in modes:
        rows = []
        for task in tasks:
            if (
                mode == "compare"
                and not sides(
                    read_names(task.text, catalog, Scope()), Scope(), catalog
                ).compared
            ):
                continue
            for _ in range(
                2
            ):  # the first time also pays for what is loaded on first use
                begin(task)
                found, ms = ask(services, task, mode)
            check(task, mode, found)
            rows.append(row(task, mode, found, ms))
        print(
            f"| {mode} | {len(rows)} | "
            f"{' | '.join(mean(rows, name) for name in Row.__slots__)} |"
        )


def mean(rows: Sequence[Row], name: str) -> str:
    values = [getattr(row, name) for row in rows]
    if None in values or not values:
        return "-"
    average = statistics.fmean(values)
    return (
        f"{average:,.0f}"
        if name in ("prompt", "completion", "ms")
        else f"{average:.1f}"
    )


def ask(services: Services, task: Task, mode: str) -> tuple[Answer, float]:
    """The answer, and the milliseconds that it took."""
    question = Question(
        task.text,
        Scope(),
        5,
        "hybrid",
        mode,
        cache=False,
        budget=services.answering.budget({}),
    )
    started = time.perf_counter()
    found = answer(services, question)
    return found, (time.perf_counter() - started) * 1000


def check(task: Task, mode: str, found: Answer) -> None:
    """That the passages of a deep answer are those of the question, and that nothing
    went wrong.
    """
    assert found.answered, (mode, task.text, found.response)
    failed = [step for step in found.trace.path if step.failed]
    assert not failed, (mode, task.text, failed)
    assert not found.trace.stopped_by, (mode, task.text, found.trace.stopped_by)
    if mode == "deep" and found.trace.usage.calls:
        texts = " ".join(hit.chunk.text for hit in found.trace.hits)
        lacking = [text for text in task.finds if text not in texts]
        assert not lacking, (task.text, lacking)


def row(task: Task, mode: str, found: Answer, ms: float) -> Row:
    usage, path = found.trace.usage, found.trace.path
    waited = sum(step.ms for step in found.trace.steps if step.usage.calls)
    chosen = found.trace.mode
    searches = [step for step in path if step.name == "found"]
    rounds = (
        sum(
            step.name == {"chain": "follow_up", "deep": "search"}.get(chosen, "")
            for step in path
        )
        or 1
    )
    seed = seed_calls(task, chosen, searches, rounds, path) if usage.calls else None
    return Row(
        rounds,
        len(searches) or 1,
        usage.calls,
        seed + 1 if seed is not None and mode == "auto" else seed,
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.embedding_tokens,
        ms - waited,
    )


def seed_calls(
    task: Task,
    mode: str,
    searches: Sequence[StepEvent],
    rounds: int,
    path: Sequence[StepEvent],
) -> int | None:
    """Generation calls of seed 002's agents (of seed 000's detailed report) for these
    rounds, searches and passages.

    Deep: a plan, a verdict on each passage of each query, a reflection after each
    round, the answer; it does not search for the whole question beside its parts, so
    what that found is left out. Chain: a question, an answer and its documents each
    round, and the answer; with its early stop one more a round. Detailed report: agent,
    queries, subtopics, introduction and conclusion, and for each section queries,
    headings and text.
    """
    if mode == "direct":
        return 1
    if mode == "deep":
        own = [
            step
            for step in searches
            if step.detail != task.text or task.text in task.parts
        ]
        passages = sum(len(step.hits) for step in own)
        return 1 + passages + rounds + 1
    if mode == "chain":
        return 3 * rounds + 1
    if mode == "report":
        return 5 + 3 * sum(step.name == "section" for step in path)
    return None


if __name__ == "__main__":
    main()

"""What follow-up questions find: the last message alone, and condensed with its
conversation by rule.

Without a filter, over the passages of `mtragun_closed`, whose reports have no
countries. Run: python -m benchmarks follow_ups BENCH
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.loaded import bench_folder, loaded, mean, question_rows
from chatbot.app.evaluation import read_dataset
from chatbot.app.evaluation.runner import ndcg, recall
from chatbot.app.services import Services
from chatbot.domain import Message, Scope
from chatbot.language import analyzer
from chatbot.questions.follow_ups import FollowUps


@dataclass(frozen=True)
class Turn:
    text: str
    history: tuple[Message, ...]
    relevant: frozenset[str]


Ask = Callable[[Turn], str]


def main(bench: Path) -> None:
    with loaded(bench / "mtragun_closed") as (services, _):
        report(services, bench / "mtragun_closed")


def report(services: Services, folder: Path) -> None:
    asked = turns(folder, services.settings.filter_fields)
    follow_ups = FollowUps(
        analyzer(services.settings.language),
        services.storage.documents,
        lambda words, headings: False,
    )

    def by_rule(turn: Turn) -> str:
        return follow_ups.by_rule(turn.text, turn.history, Scope())

    def all_before(turn: Turn) -> str:
        return " ".join(
            [
                *(
                    message.content
                    for message in turn.history
                    if message.role == "user"
                ),
                turn.text,
            ]
        )

    later = [turn for turn in asked if turn.history]
    needing = sum(by_rule(turn) != turn.text for turn in later)
    print(
        f"{len(asked)} questions, {len(later)} of them with a history, of which "
        f"{needing} need it by rule"
    )
    print(
        f"{'':28}{'recall@5':>10}{'nDCG@10':>10}{'first turns':>13}{'later turns':>13}"
    )
    ways: tuple[tuple[str, Ask], ...] = (
        ("last message alone", lambda turn: turn.text),
        ("all questions joined", all_before),
        ("condensed by rule", by_rule),
    )
    for name, ask in ways:
        found = [(turn, retrieved(services, ask(turn))) for turn in asked]
        first = [
            recall(ids, turn.relevant, 5) for turn, ids in found if not turn.history
        ]
        rest = [recall(ids, turn.relevant, 5) for turn, ids in found if turn.history]
        gain = mean([ndcg(ids, turn.relevant, 10) for turn, ids in found])
        print(
            f"{name:28}{mean(first + rest):10.4f}{gain:10.4f}{mean(first):13.4f}{mean(rest):13.4f}"  # noqa: E501
        )


def turns(folder: Path, filter_fields: tuple[str, ...]) -> list[Turn]:
    histories = {
        row["_id"]: row["metadata"]["history"] for row in question_rows(folder)
    }
    queries = read_dataset(folder, filter_fields).queries
    return [
        Turn(
            query.text,
            messages(histories[query.id]),
            frozenset(one.document_id for one in query.targets),
        )
        for query in queries
    ]


def messages(history: list[dict[str, str]]) -> tuple[Message, ...]:
    return tuple(
        Message("user" if said["speaker"] == "user" else "assistant", said["text"])
        for said in history
    )


def retrieved(services: Services, text: str) -> list[str]:
    hits = services.runtime.retriever.retrieve(
        text, top_k=10, scope=Scope(), method="hybrid"
    ).hits
    return [hit.chunk.id for hit in hits]


if __name__ == "__main__":
    main(bench_folder(__doc__))

"""What two records of answers have to agree in, and what may differ."""

import json
from pathlib import Path
from typing import Any

from benchmarks.recorded import SAMPLED, compare
from benchmarks.recorded_answers import read_conversations
from benchmarks.recorded_client import stream


def record(every: int = 1, **answers: Any) -> dict[str, Any]:
    return {SAMPLED: every, **answers}


def step(name: str, detail: str = "") -> dict[str, Any]:
    return {"name": name, "detail": detail, "ms": 3}


def test_times_and_ids_of_a_run_are_no_difference() -> None:
    before = {"ms": 3, "message_id": "a", "text": "Done on 2026-11-28 at /tmp"}
    after = {"ms": 9, "message_id": "b", "text": "Done on 2026-11-29 at /tmp"}
    assert not compare(record(ask=before), record(ask=after))


def test_another_text_is_named_by_its_path(capsys: Any) -> None:
    before = {"citations": [{"snippet": "two wells"}]}
    after = {"citations": [{"snippet": "three wells"}]}
    assert compare(record(ask=before), record(ask=after))
    assert capsys.readouterr().out.splitlines() == [
        '/ask/citations/0/snippet: "two wells" -> "three wells"',
        "1 of 1 requests differ",
    ]


def test_scores_may_differ_by_a_millionth() -> None:
    assert not compare(record(ask={"score": 0.5}), record(ask={"score": 0.5000001}))
    assert compare(record(ask={"score": 0.5}), record(ask={"score": 0.501}))


def test_searches_that_run_at_once_may_end_in_any_order() -> None:
    one_way = [step("plan"), step("embed"), step("load"), step("write")]
    other_way = [step("plan"), step("load"), step("embed"), step("write")]
    assert not compare(record(ask=one_way), record(ask=other_way))
    assert compare(record(ask=one_way), record(ask=one_way[::-1]))


def test_a_request_that_only_one_record_has_is_a_difference() -> None:
    assert compare(record(ask=1, other=2), record(ask=1))


def test_a_sampled_record_is_compared_in_what_it_has() -> None:
    whole = record(ask=1, other=2)
    assert not compare(whole, record(every=10, ask=1))
    assert compare(whole, record(every=10, ask=3))


def test_a_stream_is_recorded_by_its_order_its_text_and_its_data() -> None:
    text = (
        'id: 1\nevent: sources\ndata: {"hits": []}\n\n: still there\n\n'
        'event: token\ndata: {"text": "Two "}\n\n'
        'event: token\ndata: {"text": "wells"}\n\nevent: done\ndata: {}\n\n'
    )
    assert stream(text) == {
        "order": ["sources", "token", "done"],
        "text": "Two wells",
        "sources": [{"hits": []}],
        "done": [{}],
    }


def test_questions_of_all_kinds_of_sets_are_read_once_each(tmp_path: Path) -> None:
    rows: dict[str, list[Any]] = {
        "wordings/dev/series": [{"question": "And since?", "history": ["How many?"]}],
        "quality_dev/scope_positions": ["How many?"],
        "quality_dev/citations": [{"right": "is no question"}],
        "questions4/dev/why": [{"turns": ["Why?", "Since when?"]}, {"turns": ["Why?"]}],
        "questions4/dev/keys": [{"turns": ["How many?"]}],
    }
    for name, row in rows.items():
        path = tmp_path / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(row), encoding="utf-8")
    assert [one.turns for one in read_conversations(tmp_path)] == [
        ("How many?", "And since?"),
        ("How many?",),
        ("Why?", "Since when?"),
        ("Why?",),
    ]

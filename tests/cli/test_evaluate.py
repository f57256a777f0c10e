"""`evaluate`: a data set from the folder to the figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.evaluation import beir

BENCH = Path(__file__).parents[3] / "shared" / "data" / "bench" / "factbook_scoped_dev"
FIELDS = {"name", "recall@5", "recall@10", "mrr@10", "ndcg@10", "leaks", "ms"}


def evaluate(run: Run, folder: Path, *arguments: str, **settings: str) -> Any:
    result = run("evaluate", str(folder), "--json", *arguments, **settings)
    assert result.status == 0, result.err
    return json.loads(result.out)


def test_the_products_own_configuration_comes_first(run: Run, tmp_path: Path) -> None:
    body = evaluate(run, beir.write(tmp_path / "tiny"))
    assert body["dataset"] == "tiny"
    assert body["configurations"][0]["name"] == "hybrid (as configured)"
    assert len(body["configurations"]) > 1
    for row in body["configurations"]:
        assert set(row) == FIELDS
        assert row["leaks"] == 0
    own = body["configurations"][0]
    assert (own["recall@5"], own["mrr@10"], own["ndcg@10"]) == (1.0, 1.0, 1.0)


def test_the_configuration_follows_the_settings(run: Run, tmp_path: Path) -> None:
    body = evaluate(run, beir.write(tmp_path / "tiny"), RETRIEVAL_METHOD="bm25")
    assert body["configurations"][0]["name"] == "bm25 (as configured)"


def test_no_filters_asks_the_whole_question(run: Run, tmp_path: Path) -> None:
    """The question with its names, over everything: here the names still find the right passage."""
    queries = '{"_id": "q1", "text": "Mali 2023 zebra", "metadata": {"filters": {"country_name": "Kenya"}}}\n'
    folder = beir.write(tmp_path / "tiny", queries=queries, qrels="h\th\th\nq1\tm23\t1\n")
    assert evaluate(run, folder)["configurations"][0]["recall@5"] == 0.0
    assert evaluate(run, folder, "--no-filters")["configurations"][0]["recall@5"] == 1.0


def test_nothing_is_left_in_the_database(run: Run, tmp_path: Path) -> None:
    evaluate(run, beir.write(tmp_path / "tiny"))
    assert run("documents", "list").out == "0 reports, 0 passages\n"


def test_without_json_it_is_a_table(run: Run, tmp_path: Path) -> None:
    lines = run("evaluate", str(beir.write(tmp_path / "tiny"))).out.splitlines()
    assert lines[0].split() == ["configuration", "recall@5", "recall@10", "mrr@10", "ndcg@10", "leaks", "ms"]
    assert lines[1].split()[:4] == ["hybrid", "(as", "configured)", "1.0"]


def test_a_broken_data_set_is_a_message_and_exit_status_1(run: Run, tmp_path: Path) -> None:
    result = run("evaluate", str(beir.write(tmp_path / "tiny", corpus="{")))
    assert result.status == 1
    assert "corpus.jsonl, line 1: not JSON" in result.err


@pytest.mark.slow
@pytest.mark.skipif(not BENCH.is_dir(), reason=f"the data set is not here: {BENCH}")
def test_scoped_questions_on_the_factbook(run: Run) -> None:
    """Must show: R@5 >= .97 and nDCG@10 >= .88 with the filter, without one leak over 349 questions."""
    lines = (BENCH / "queries.jsonl").read_text(encoding="utf-8").strip().split("\n")
    assert len(lines) == 349
    own = evaluate(run, BENCH, EMBEDDING_PROVIDER="minilm")["configurations"][0]
    assert own["recall@5"] >= 0.97
    assert own["ndcg@10"] >= 0.88
    assert own["leaks"] == 0

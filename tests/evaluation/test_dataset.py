"""Data sets in BEIR layout, and what is said of broken ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbot.errors import LoadError
from chatbot.evaluation.dataset import EvaluationQuery, Target, read_dataset
from chatbot.schema import Chunk, Scope, Values
from chatbot.settings import Settings
from tests.evaluation import beir

FIELDS = Settings().filter_fields


def test_passages_keep_id_title_text_and_filter_fields(tmp_path: Path) -> None:
    data = read_dataset(beir.write(tmp_path / "tiny"), FIELDS)
    assert data.name == "tiny"
    assert [chunk.id for chunk in data.chunks] == ["k21", "k23", "m23", "free"]
    first, last = data.chunks[0], data.chunks[-1]
    assert first.search_text == "Kenya 2021\nzebra growth 2.12%"
    assert first.metadata == {"country_name": "Kenya", "year": 2021}
    assert last.search_text == "giraffes eat leaves"


def test_questions_keep_filters_judgements_and_scoped_text(tmp_path: Path) -> None:
    scoped, free = read_dataset(beir.write(tmp_path / "tiny"), FIELDS).queries
    assert scoped.relevant == {"k23"}, "a score of 0 is no judgement in favour"
    assert scoped.scope == Scope.of({"country_name": Values(("Kenya",)), "year": Values((2023,))})
    assert (scoped.text, scoped.scoped_text) == ("zebra growth in Kenya in 2023", "zebra growth")
    assert free.scope == Scope()
    assert free.scoped_text == free.text == "what do giraffes eat"


def test_lines_end_where_json_lines_end(tmp_path: Path) -> None:
    """U+2028 and U+0085 are text, not line ends."""
    folder = beir.write(tmp_path / "tiny", corpus='{"_id": "a", "text": "one\u2028two\x85three"}\n')
    assert read_dataset(folder, FIELDS).chunks[0].text == "one\u2028two\x85three"


BROKEN = {
    "no corpus": ({"corpus": "{"}, "corpus.jsonl, line 1: not JSON"),
    "second line": ({"corpus": '{"_id": "a", "text": "x"}\n[]\n'}, "corpus.jsonl, line 2: _id and text are required"),
    "no text": ({"queries": '{"_id": "q1"}\n'}, "queries.jsonl, line 1: _id and text are required"),
    "a number as id": ({"corpus": '{"_id": 5, "text": "x"}\n'}, "corpus.jsonl, line 1: _id and text are required"),
    "two columns": ({"qrels": "query-id\tcorpus-id\tscore\nq1\tk23\n"}, "qrels/test.tsv, line 2: expected query-id"),
    "no qrels": ({"qrels": None}, "qrels/test.tsv cannot be read"),
    "no judged question": ({"qrels": "h\th\th\nq9\tk23\t1\n"}, "no question has a judgement"),
    "a score that is none": ({"qrels": "h\th\th\nq1\tk23\tgood\n"}, "qrels/test.tsv, line 2"),
}


@pytest.mark.parametrize(("files", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_named_with_its_line(tmp_path: Path, files: dict[str, str | None], message: str) -> None:
    folder = beir.write(tmp_path / "tiny", **files)
    with pytest.raises(LoadError) as raised:
        read_dataset(folder, FIELDS)
    assert message in raised.value.message
    assert str(folder) in raised.value.message


def passage(document: str, text: str = "", page: int | None = None) -> Chunk:
    return Chunk("c", document, document, document, text, page=page)


@pytest.mark.parametrize(
    ("target", "chunk", "holds"),
    [
        (Target("a"), passage("a"), True),
        (Target("a"), passage("b"), False),
        (Target("a", page=3), passage("a", page=3), True),
        (Target("a", page=3), passage("a", page=4), False),
        (Target("a", page=3), passage("a"), False),
        (Target("a", answer="2.09 % a year"), passage("a", "It grows by 2.09 %\n  A Year."), True),
        (Target("a", answer="2.09 %"), passage("a", "It grows by 2.9 %"), False),
    ],
)
def test_what_a_target_asks_of_a_passage(target: Target, chunk: Chunk, holds: bool) -> None:
    assert target.holds(chunk) is holds


def test_each_target_is_found_once_at_its_first_passage() -> None:
    targets = (Target("a", answer="x"), Target("b"))
    query = EvaluationQuery("q", "", "", Scope(), targets)
    ranking = query.ranking([passage("a", "y"), passage("b"), passage("b"), passage("a", "x")])
    assert ranking == ["", "b", "", "a: x"]
    assert query.relevant == {"b", "a: x"}
    assert query.answerable
    assert not EvaluationQuery("q", "", "", Scope(), ()).answerable

"""`$search` over a list of documents: compound, text (BM25), equals, in, range and
exists; rows come best first.

Where its beliefs come from (paths of github.com/mongodb/mongot, below
src/main/java/com/xgen/mongot):
- "default" where no index is named: index/query/Query.java;
- BM25 with Lucene's k1 = 1.2 and b = .75: index/lucene/similarity/LuceneSimilarity.java
  takes BM25Similarity without arguments;
- the clauses of compound, and that one of `mustNot` alone finds the others without a
  score: index/lucene/query/CompoundQueryFactory.java;
- equals, in, range and exists score the same for each match (ConstantScoreQuery in
  EqualsQueryFactory.java, InQueryFactory.java, ExistsQueryFactory.java);
- a field has to be indexed as token, number or boolean:
  index/lucene/query/util/MappingCompatibilityValidator.java;
- a text of a path that is not indexed matches nothing:
  mongodb.com/docs/atlas/atlas-search/path-construction;
- analyzers: mongodb.com/docs/atlas/atlas-search/analyzers/language. The product's own
  ones stand in for Lucene's, so the scores are near the engine's, not equal.
"""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from chatbot.language.analysis import analyzer
from tests.fakes.mql_filter import compiled, kind_of
from tests.fakes.search_engine import Documents, Find, Row, refused


def text_search(spec: Mapping[str, Any], documents: Documents, find: Find) -> list[Row]:
    operators = [
        name for name in ("compound", "text", "equals", "in", "range") if name in spec
    ]
    assert len(operators) == 1
    definition = find(str(spec.get("index", "default")), "search")
    if definition is None:
        return []
    scores = _Operators(documents, definition["mappings"]["fields"]).scores(
        operators[0], spec[operators[0]]
    )
    rows = [
        (score, document)
        for score, document in zip(scores, documents, strict=True)
        if score is not None
    ]
    return sorted(rows, key=lambda row: -row[0])


class _Operators:
    """Each operator gives one score a document, None where it does not match."""

    def __init__(self, documents: Documents, fields: Mapping[str, Any]) -> None:
        self._documents = documents
        self._fields = fields

    def scores(self, name: str, spec: Mapping[str, Any]) -> list[float | None]:
        if name == "compound":
            return self._compound(spec)
        if name == "text":
            return self._text(spec)
        if name == "exists":  # mongot's ExistsQueryFactory.java: a constant score
            path = str(spec["path"])
            return [1.0 if path in document else None for document in self._documents]
        assert name in ("equals", "in", "range")
        return [1.0 if match else None for match in self._matches(name, spec)]

    def _compound(self, spec: Mapping[str, Any]) -> list[float | None]:
        if set(spec) == {"mustNot"}:  # mongot's CompoundQueryFactory.negate: the others
            found = [
                self.scores(*next(iter(clause.items()))) for clause in spec["mustNot"]
            ]
            return [
                None if any(score is not None for score in scores) else 0.0
                for scores in zip(*found, strict=True)
            ]
        assert set(spec) <= {"must", "filter", "should", "minimumShouldMatch"}
        assert any(spec.values())
        total: list[float | None] = [0.0] * len(self._documents)
        if "should" in spec:
            total = self._should(spec["should"], spec["minimumShouldMatch"])
        for occurrence, clauses in spec.items():
            if occurrence not in {"must", "filter"}:
                continue
            for clause in clauses if isinstance(clauses, list) else [clauses]:
                ((name, operand),) = clause.items()
                found = self.scores(name, operand)
                counted = 1.0 if occurrence == "must" else 0.0
                total = [
                    None if before is None or now is None else before + counted * now
                    for before, now in zip(total, found, strict=True)
                ]
        return total

    def _should(
        self, clauses: list[Mapping[str, Any]], needed: int
    ) -> list[float | None]:
        """The sum of the scores of the clauses that match, where enough of them do."""
        found = [self.scores(*next(iter(clause.items()))) for clause in clauses]
        matched = (
            [score for score in scores if score is not None]
            for scores in zip(*found, strict=True)
        )
        return [sum(scores) if len(scores) >= needed else None for scores in matched]

    def _matches(self, name: str, spec: Mapping[str, Any]) -> list[bool]:
        path = str(spec["path"])
        bounds = {f"${end}": spec[end] for end in ("gte", "lte") if end in spec}
        value = {
            "equals": {"$eq": spec.get("value")},
            "in": {"$in": spec.get("value")},
            "range": bounds,
        }[name]
        operand = next(iter(value.values()), None)
        assert operand not in (None, [])
        kind = kind_of(operand[0] if isinstance(operand, list) else operand)
        needed = {"string": "token"}.get(kind, kind)
        mapping = self._fields.get(path, [])
        if needed not in {
            one["type"] for one in (mapping if isinstance(mapping, list) else [mapping])
        }:
            raise refused(f"Path '{path}' needs to be indexed as {needed}")
        inside = compiled({path: value}, {path})
        return [inside(document) for document in self._documents]

    def _text(self, spec: Mapping[str, Any]) -> list[float | None]:
        assert spec["query"]
        paths = spec["path"] if isinstance(spec["path"], list) else [spec["path"]]
        total: list[float | None] = [None] * len(self._documents)
        for path in paths:
            mapping = self._fields.get(path)
            if not isinstance(mapping, Mapping) or mapping["type"] != "string":
                continue  # an unindexed path matches nothing, without an error
            for place, score in self._bm25(
                path, mapping["analyzer"], str(spec["query"])
            ).items():
                total[place] = (total[place] or 0.0) + score
        if "score" not in spec:
            return total
        # A constant takes the place of what Lucene would compute.
        constant = float(spec["score"]["constant"]["value"])
        return [None if score is None else constant for score in total]

    def _bm25(self, path: str, lucene: str, query: str) -> dict[int, float]:
        terms_of = analyzer(lucene.removeprefix("lucene.")).terms
        texts = [
            Counter(terms_of(str(document.get(path) or "")))
            for document in self._documents
        ]
        lengths = [text.total() for text in texts]
        average = sum(lengths) / max(sum(1 for length in lengths if length), 1)
        scores: dict[int, float] = {}
        for term in set(terms_of(query)):
            places = [place for place, text in enumerate(texts) if text[term]]
            rarity = math.log(
                1 + (len(texts) - len(places) + 0.5) / (len(places) + 0.5)
            )
            for place in places:
                count = texts[place][term]
                weight = count / (
                    count + 1.2 * (0.25 + 0.75 * lengths[place] / average)
                )
                scores[place] = scores.get(place, 0.0) + rarity * weight
        return scores

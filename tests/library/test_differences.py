"""What two versions of a report say differently."""

from chatbot.domain import Chunk
from chatbot.domain.differences import ComparedWords, TextDifference
from chatbot.library.differences import MAX_LISTED, text_differences


def chunks(*texts: str, section: str = "Water") -> list[Chunk]:
    return [
        Chunk(
            id=Chunk.make_id("water", "v1", ordinal),
            document_id="water",
            title="Water report",
            document_name="Water report",
            section=section,
            text=text,
            ordinal=ordinal,
        )
        for ordinal, text in enumerate(texts)
    ]


def marked(difference: TextDifference) -> str:
    signs = {"same": "{}", "removed": "-{}-", "added": "+{}+"}
    pieces = difference.pieces
    return " ".join(signs[piece.kind].format(piece.text) for piece in pieces)


def test_a_changed_sentence_is_shown_with_its_changed_words() -> None:
    old = chunks("The town has 40 boreholes. People walk far.", "Roads are bad.")
    new = chunks("The town has 55 boreholes. People walk far.", "Roads are bad.")
    found = text_differences(old, new)
    assert found.total == 1
    (difference,) = found.passages
    assert difference.section == "Water"
    assert difference.pieces == (
        ComparedWords("same", "The town has"),
        ComparedWords("removed", "40"),
        ComparedWords("added", "55"),
        ComparedWords("same", "boreholes."),
    )


def test_moved_text_and_other_passages_are_no_difference() -> None:
    old = chunks("One is here.\nTwo is here.", "Three is here.\nTwo is here.")
    new = chunks("Three is here.", "One is here. Two is here.")
    assert text_differences(old, new).total == 0


def test_what_became_what_is_found_beside_what_is_new_and_gone() -> None:
    old = chunks("Start.\nWells: 12 of them\nPumps: 7 of them\nOld rule: boil it\nEnd.")
    new = chunks(
        "Start.\nTanks are full now\nWells: 15 of them\nPumps: 9 of them\nEnd."
    )
    found = text_differences(old, new)
    assert [marked(each) for each in found.passages] == [
        "+Tanks are full now+",
        "Wells: -12- +15+ of them",
        "Pumps: -7- +9+ of them",
        "-Old rule: boil it-",
    ]


def test_texts_without_anything_in_common_are_counted_and_cut() -> None:
    old = chunks("\n".join(f"old line {number}" for number in range(3_000)))
    new = chunks("\n".join(f"new text {number} of it" for number in range(2_000)))
    found = text_differences(old, new)
    assert found.total == MAX_LISTED + 3_000
    assert len(found.passages) == MAX_LISTED

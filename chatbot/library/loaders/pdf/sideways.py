"""Headings of columns that are set sideways because their columns are narrow."""

from collections.abc import Sequence
from copy import copy

from .drawing import Box, Char, DrawnPage, Loss, turned_box
from .measures import read_measure
from .tables import is_number
from .words import Word, page_words, pieces_of, rows_of, text_of

_BELOW = read_measure("sideways.below")
_SAME_HEAD = read_measure("sideways.same_head")


def sideways_heads(page: DrawnPage, turn: int) -> tuple[list[Word], list[Char]]:
    """Return the headings of columns in the page's main direction, as words at their
    places in that direction, and the letters of the page that are not in them.

    ``turn``: the quarter turns that make the main direction upright. A heading stands
    sideways over a column of figures, beside another such heading.
    """
    view = copy(page.turned(turn))
    view.losses = {loss: [] for loss in Loss}  # they are counted when the page is read
    figures = [word for word in page_words(view) if is_number(word.text)]
    heads: list[Word] = []
    for across in (1, 3):
        blocks = _blocks(view, across)
        above = [block for block in blocks if _is_over(block, figures)]
        heads += [block for block in above if _has_neighbour(block, above)]
    letters = []
    for char, moved in zip(page.letters, view.letters, strict=True):
        is_sideways = moved.turn % 2 == 1
        if not (is_sideways and _is_in_any(moved, heads)):
            letters.append(char)
    # Only the foot of a heading counts for its row: they are of different lengths.
    for head in heads:
        head.top = head.bottom - head.size
    return heads, letters


def _blocks(view: DrawnPage, across: int) -> list[Word]:
    """Return the texts that are upright after ``across`` more turns, each with all its
    lines, at their places in the view.
    """
    side = view.turned(across)
    _, _, width, height = map(float, side.bbox)
    blocks: list[Word] = []
    for row in rows_of(page_words(side)):
        for piece in pieces_of(row, 2.0):
            x0, top, x1, bottom = turned_box(_box_of(piece), 4 - across, width, height)
            first = piece[0]
            text = text_of(piece)
            line = Word(text, x0, x1, top, bottom, first.size, first.bold)
            block = _continued(line, blocks)
            if block is None:
                blocks.append(line)
            else:
                _append(block, line)
    return blocks


def _box_of(words: Sequence[Word]) -> Box:
    top = min(word.top for word in words)
    bottom = max(word.bottom for word in words)
    return words[0].x0, top, words[-1].x1, bottom


def _continued(line: Word, blocks: Sequence[Word]) -> Word | None:
    """Return the block that the line continues: it stands close beside it."""
    for block in reversed(blocks):
        gap = max(line.x0 - block.x1, block.x0 - line.x1)
        if gap >= _SAME_HEAD * line.size:
            continue
        shared = min(line.bottom, block.bottom) - max(line.top, block.top)
        shorter = min(line.bottom - line.top, block.bottom - block.top)
        if 2 * shared > shorter:
            return block
    return None


def _append(block: Word, line: Word) -> None:
    block.text = f"{block.text} {line.text}"
    block.x0 = min(block.x0, line.x0)
    block.x1 = max(block.x1, line.x1)
    block.top = min(block.top, line.top)
    block.bottom = max(block.bottom, line.bottom)


def _is_over(block: Word, figures: Sequence[Word]) -> bool:
    above = block.bottom - block.size
    below = block.bottom + _BELOW * block.size
    for figure in figures:
        is_in_column = figure.x0 < block.x1 and figure.x1 > block.x0
        if is_in_column and above < figure.y < below:
            return True
    return False


def _has_neighbour(block: Word, blocks: Sequence[Word]) -> bool:
    for other in blocks:
        beside = block.top < other.bottom and other.top < block.bottom
        if beside and other is not block:
            return True
    return False


def _is_in_any(char: Char, blocks: Sequence[Word]) -> bool:
    x = (char.x0 + char.x1) / 2
    y = (char.top + char.bottom) / 2
    return any(
        block.x0 <= x <= block.x1 and block.top <= y <= block.bottom for block in blocks
    )

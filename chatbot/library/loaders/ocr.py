"""Text in pictures, read by rapidocr (the extra `ocr`) with the models of its package.
The lines become words at their places, so that columns and tables are found as on any
other page.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from ...domain.documents import UNSURE
from ...domain.packages import install_command

if TYPE_CHECKING:
    from .pdf.words import Word

INSTALL_NOTE = f"Install the extra ocr to read it ({install_command('ocr')})"
PAGES_NOTE = "Pictures are read up to a limit, those of an attachment up to 3"
INSTALLED = find_spec("rapidocr") is not None
PIXELS = 2_000
"""The longer side of a picture as it is read: 171 dots an inch on A4. The models shrink
larger ones.
"""
_SIZE, _LARGER = 0.8, 1.35
"""The font size in heights of a line's box, and the height of a heading's in those of
the page's usual one.
"""


@dataclass(slots=True)
class Ocr:
    """Reads the pictures of one file. ``pages``: how many at most; ``begin(page)`` is
    called before each, ``note`` with the number of pages with text that were read and
    of all.
    """

    pages: int = 0
    begin: Callable[[int], None] = lambda page: None
    note: Callable[[int, int], None] = lambda page, pages: None

    @property
    def missing(self) -> str:
        """What to do so that pictures are read; "" if they are."""
        if not INSTALLED:
            return INSTALL_NOTE
        return "" if self.pages else PAGES_NOTE

    def page_words(self, path: Path, number: int) -> "tuple[list[Word], float]":
        """Return the words on a page of a PDF, in points, and their mean confidence."""
        import pypdfium2

        with pypdfium2.PdfDocument(path) as pdf:
            page = pdf[number - 1]
            scale = PIXELS / max(page.get_size())
            return self.words(page.render(scale=scale).to_numpy(), number, 1 / scale)

    def words(
        self, picture: Any, number: int, point: float
    ) -> "tuple[list[Word], float]":
        """Return the words of a picture, an array of pixels that are ``point`` points
        wide. A line that was read with little confidence ends with `UNSURE`.
        """
        from .pdf.words import Word

        self.begin(number)
        self.pages -= 1
        result = _engine()(picture)
        if result.txts is None:
            return [], 0.0
        lines = list(
            zip(
                result.txts, result.scores, (result.boxes * point).tolist(), strict=True
            )
        )
        # A page that was scanned askew is turned back.
        slope = _slope([box for _, _, box in lines])
        usual = median(box[3][1] - box[0][1] for _, _, box in lines)
        words = []
        for text, score, box in lines:
            x0 = min(x for x, _ in box)
            x1 = max(x for x, _ in box)
            height = box[3][1] - box[0][1]
            size = _SIZE * (height if height > _LARGER * usual else usual)
            middle = fmean(y - slope * x for x, y in box)
            width = (x1 - x0) / max(len(text), 1)
            for word in re.finditer(r"\S+", text):
                # Below, the last word of a line is marked as unsure.
                unsure = score < 0.9 and word.end() == len(text.rstrip())
                left = x0 + width * word.start()
                right = x0 + width * word.end()
                shown = f"{word[0]} {UNSURE}" if unsure else word[0]
                words.append(
                    Word(
                        shown,
                        left,
                        right,
                        middle - size / 2,
                        middle + size / 2,
                        size,
                        bold=False,
                    )
                )
        letters = sum(len(text) for text, _, _ in lines)
        return words, sum(score * len(text) for text, score, _ in lines) / max(
            letters, 1
        )


def _slope(boxes: Iterable[Any]) -> float:
    """Return how much lines sink from left to right, by those that are long for their
    height; ``boxes``: their corners, from the upper left one clockwise.
    """
    slopes = [0.0]
    for left, right, lower, _ in boxes:
        width = right[0] - left[0]
        if width > 4 * (lower[1] - right[1]):
            slopes.append((right[1] - left[1]) / width)
    return median(slopes[1:] or slopes)


@cache
def _engine() -> Any:
    from rapidocr import RapidOCR

    # It took lines for upside down that were not. One line at a time takes half the
    # memory of six.
    params = {
        "Global.log_level": "critical",
        "Global.use_cls": False,
        "Rec.rec_batch_num": 1,
    }
    # The longer side when lines are looked for decides the memory: 520 MB, with 960
    # pixels 360 MB.
    params |= {"Det.limit_type": "max", "Det.limit_side_len": 1_280}
    params |= {
        f"EngineConfig.onnxruntime.{kind}_op_num_threads": 1
        for kind in ("intra", "inter")
    }
    return RapidOCR(params=params)

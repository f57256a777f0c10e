"""The nouns of the product: Document -> Chunk -> SearchHit -> Context -> Answer with
Citations.

Plain frozen dataclasses, no I/O. Scores are on one scale everywhere: ``score`` is the
Atlas ``vectorSearchScore`` for cosine, (1 + cosine) / 2, in [0, 1].
"""

from .chat import *
from .costs import *
from .documents import *
from .errors import *
from .figures import *
from .json import *
from .protocols import *
from .request import *
from .scope import *

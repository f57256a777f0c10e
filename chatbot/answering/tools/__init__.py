"""What gathers: search, table of figures, attachments; and the model that plans.

One toolbox for planners, writers, agents that ask over MCP, and other people's modes.
"""

from dataclasses import dataclass

from .attachments import AttachmentTool
from .figures import FigureTool
from .model import ModelTool
from .read import ReadTool
from .search import SearchTool


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What a question may gather with, inside the limit of its caller."""

    search: SearchTool
    figures: FigureTool
    attachments: AttachmentTool
    model: ModelTool
    read: ReadTool

"""A folder with its subfolders, and a manifest that may describe its files."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ....domain.errors import LoadError
from ....library.loaders import suffixes
from ....library.sources import folder_sources
from . import Connector, Download, SourceFile


class FolderConnector(Connector):
    """``path``: absolute, or from where the program is started."""

    path: Path

    def files(self, download: Download) -> Iterator[SourceFile]:
        if not self.path.is_dir():
            raise LoadError(
                f"{self.path} is not a folder here. Check the path, and whether "
                "the disk is mounted."
            )
        readable = suffixes()
        for source in folder_sources(self.path, pattern=self.glob):
            if source.listed or source.path.suffix.lower() in readable:
                stamp = ""
                with suppress(OSError):  # reading it says why
                    state = source.path.stat()
                    stamp = f"{state.st_size}-{state.st_mtime_ns}"
                yield SourceFile(source, stamp)


build = FolderConnector

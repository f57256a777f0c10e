"""A folder with its subfolders, and a manifest that may describe its files."""

import os
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
        require_listed(self.path)


def require_listed(folder: Path) -> None:
    """Raise LoadError for a subfolder that cannot be listed: globbing skips it, and its
    files would count as gone.
    """
    failures: list[OSError] = []
    for _ in os.walk(folder, onerror=failures.append):
        if failures:
            break
    if failures:
        raise LoadError(
            f"{failures[0].filename} cannot be listed: {failures[0].strerror}. Give "
            "the server the right to read it."
        )


build = FolderConnector

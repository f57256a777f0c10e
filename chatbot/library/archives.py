"""ZIP archives of documents: each member is a document of its own."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

from ..domain.errors import LoadError
from .loaders.office import MAX_ENTRIES, check_entries, office_errors

MAX_UNPACKED_BYTES = 1024**3


def unpack(
    archive: Path, folder: Path, *, max_bytes: int, most: int = MAX_ENTRIES
) -> Iterator[tuple[str, Path]]:
    """Unpack the members of an archive below ``folder``, each up to ``max_bytes``, and
    yield their names and places. Hidden files are left out, archives in it stay packed.
    Raises LoadError: it is damaged, protected or too large.
    """
    size = count = 0
    with office_errors(archive, "a ZIP archive"), ZipFile(archive) as file:
        check_entries(archive, file.infolist())
        for entry in file.infolist():
            name = PurePosixPath(entry.filename.replace("\\", "/"))
            if entry.is_dir() or any(
                part.startswith((".", "__MACOSX")) for part in name.parts
            ):
                continue
            count += 1
            if count > most:
                raise LoadError(
                    f"{archive.name} has more than {most:,} files. Split it and "
                    "try again."
                )
            path = folder / str(count) / name.name
            path.parent.mkdir(parents=True)
            with file.open(entry) as source, path.open("wb") as target:
                while block := source.read(1024**2):
                    size += target.write(block)
                    if target.tell() > max_bytes or size > MAX_UNPACKED_BYTES:
                        limit = min(max_bytes, MAX_UNPACKED_BYTES) // 1024**2
                        raise LoadError(
                            f"{archive.name}: {name} exceeds the limit of {limit} "
                            "MB when unpacked."
                        )
            yield str(name), path

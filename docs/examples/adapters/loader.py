"""Configuration files of the kind `[section]`, `name = value`: a section for each."""

from __future__ import annotations

import configparser
from pathlib import Path

from ...domain import Loaded, Section
from ...domain.documents import lay_out
from ...domain.errors import LoadError
from . import Fit, Sample
from .text import read_text


class IniLoader:
    """Implements `loaders.FileLoader`."""

    noun = "an INI file"
    suffixes = (".ini",)
    isolated = False

    def fit(self, sample: Sample) -> Fit:
        return (
            Fit.NAMED
            if sample.text is not None and sample.is_named(self.suffixes)
            else Fit.NO
        )

    def load(self, path: Path) -> Loaded:
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        try:
            parser.read_string(read_text(path))
        except configparser.Error as error:
            raise LoadError(
                f"{path.name} is not {self.noun}: {error}. Mend it, or name it .txt."
            ) from error
        sections = [
            Section(
                (name,),
                "\n".join(f"{key}: {value}" for key, value in parser[name].items()),
            )
            for name in parser.sections()
        ]
        if not any(section.text.strip() for section in sections):
            raise LoadError(f"{path.name} has no text.")
        return Loaded(path.stem, lay_out(sections))


build = IniLoader

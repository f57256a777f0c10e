"""What pdfminer and pdfplumber raise about a file that is damaged or odd."""

import struct
import zlib

from pdfminer.psexceptions import PSException
from pdfplumber.utils.exceptions import MalformedPDFException, PdfminerException

from .. import FAULTS

DAMAGE = (
    PdfminerException,
    MalformedPDFException,
    PSException,
    struct.error,
    zlib.error,
    *FAULTS,
)
"""Both libraries trust a file's structure, so an odd one makes them fail anywhere."""

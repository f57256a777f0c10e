"""A process of its own that does an operation and ends itself at one of its calls.

    python -m tests.faults.victim FOLDER OPERATION NUMBER

FOLDER is that of a `FileLibrary` in the state before the operation. The process ends by
SIGKILL before the call with this number; where there is no such call, normally.
"""

import sys
from pathlib import Path

from tests.faults.enumeration import serving
from tests.faults.libraries import FileLibrary
from tests.faults.operations import OPERATIONS
from tests.faults.scripts import KILL, Fault, Script


def main() -> None:
    folder, name, number = sys.argv[1:]
    script = Script(Fault(int(number), KILL), really=True)
    operation = OPERATIONS[name]
    site = serving(FileLibrary(Path(folder)), operation, script)
    with script.counting():
        operation.run(site)


if __name__ == "__main__":
    main()

"""How fast PDFs are read, in pages a second of processor time, beside another checkout,
and the peak memory.

    python -m benchmarks pdf_speed BASE FOLDER... [--rounds N]

Each round reads all PDFs below the folders once with each checkout, in a process of its
own; which one goes first alternates. Files that either checkout refuses are left out.
The time begins once the libraries are loaded.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parent.parent
READ = """
import json, resource, sys, time
from pathlib import Path
try:
    from chatbot.library.loaders import loader_for
except ImportError:
    from chatbot.loaders import loader_for
paths, pages = list(map(Path, sys.argv[1:])), {}
def read(path):
    try:
        return loader_for(path).load(path).pages
    except Exception:  # another checkout may refuse the file
        return None
read(paths[0])
for path in paths:
    began_file = time.process_time()
    pages[str(path)] = read(path), time.process_time() - began_file
print(json.dumps([pages, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base", type=Path, help="the other checkout")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--show", action="store_true", help="print the time of each file"
    )
    chosen = parser.parse_args()
    paths = sorted(
        str(path.resolve())
        for folder in chosen.folders
        for path in folder.rglob("*.pdf")
    )
    ratios = []
    best: dict[tuple[Path, str], float] = {}
    for number in range(chosen.rounds):
        results = {}
        for root in (ROOT, chosen.base)[:: 1 if number % 2 else -1]:
            finished = subprocess.run(
                [sys.executable, "-c", READ, *paths],
                cwd=root,
                capture_output=True,
                check=True,
            )
            results[root] = json.loads(finished.stdout)
        (here, memory), (there, base_memory) = results[ROOT], results[chosen.base]
        both = [path for path in paths if here[path][0] and there[path][0]]
        pages = sum(here[path][0] for path in both)
        seconds = {
            root: sum(files[path][1] for path in both)
            for root, (files, _) in results.items()
        }
        ratios.append(seconds[chosen.base] / seconds[ROOT])
        for root, (files, _) in results.items():
            for path in both:
                best[root, path] = min(best.get((root, path), 1e9), files[path][1])
        print(
            f"{len(both)} of {len(paths)} PDFs, {pages} pages: {pages / seconds[ROOT]:.1f} pages a second here, "  # noqa: E501
            f"{pages / seconds[chosen.base]:.1f} there: {ratios[-1]:.3f}; peak {memory:.0f} and {base_memory:.0f} MB"  # noqa: E501
        )
    print(f"median {median(ratios):.3f} of {chosen.rounds} rounds")
    totals = [
        sum(time for (root, _), time in best.items() if root == one)
        for one in (chosen.base, ROOT)
    ]
    print(f"of each file's best time: {totals[0] / totals[1]:.3f}")
    for path in both if chosen.show else ():
        mine, other = best[ROOT, path], best[chosen.base, path]
        print(f"{other / mine:6.2f} {mine:7.3f} {other:7.3f} {Path(path).name}")


if __name__ == "__main__":
    main()

"""Write the seeds into a folder: `python -m kernelref.cases.seeds corpus/seeds`."""

from __future__ import annotations

import sys
from pathlib import Path

from kernelref.cases.case import write_case
from kernelref.cases.seeds import cases


def main(folder: Path) -> None:
    """Write every seed, and remove case files that no seed writes any more."""
    folder.mkdir(parents=True, exist_ok=True)
    names = set()
    for name, case in cases():
        write_case(case, folder / name)
        names.add(name)
    for path in folder.glob("*.json"):
        if path.name not in names:
            path.unlink()
    print(f"{len(names)} seeds in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

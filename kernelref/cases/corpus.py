"""The corpus: the cases that ship with kernelref, in three folders.

`seeds` are written from what real models compute, `regress` once failed here, `known` fail in a
release and are expected to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import kernelref
from kernelref.cases.case import Case, read_case, write_case
from kernelref.errors import InvalidInput

KINDS = ("seeds", "regress", "known")


def corpus_root() -> Path:
    """Where the corpus lies: inside an installed package, beside it in a checkout.

    Raises: InvalidInput when this copy of kernelref came without one.
    """
    package = Path(kernelref.__file__).resolve().parent
    for root in (package / "corpus", package.parent / "corpus"):
        if (root / KINDS[0]).is_dir():
            return root
    raise InvalidInput("this installation has no corpus", where=str(package))


def corpus_files(kind: str | None = None, root: Path | None = None) -> Iterator[Path]:
    """The case files of one kind, or of all, by name."""
    base = corpus_root() if root is None else root
    for folder in KINDS if kind is None else (kind,):
        yield from sorted((base / folder).glob("*.json"))


def add_case(case: Case, kind: str, name: str = "", root: Path | None = None) -> Path:
    """Store a case under its title, or `name`, and return the file.

    Raises: InvalidInput when the kind is none, the name is taken, or the corpus has the same
    kernel, opts and rules already.
    """
    if kind not in KINDS:
        raise InvalidInput(f"unknown kind {kind}; one of {', '.join(KINDS)}")
    base = corpus_root() if root is None else root
    for path in corpus_files(root=base):
        if _is_same(read_case(path), case):
            raise InvalidInput("the corpus has this kernel with these opts", where=str(path))
    path = base / kind / f"{slug(name or case.title)}.json"
    if path.exists():
        raise InvalidInput("the name is taken", where=str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_case(case, path)
    return path


def _is_same(left: Case, right: Case) -> bool:
    return (left.ast, left.opts, left.rules, left.limits) == (
        right.ast,
        right.opts,
        right.rules,
        right.limits,
    )


def slug(title: str) -> str:
    """A file name of a title: lower-case words joined by hyphens."""
    words = re.findall(r"[a-z0-9]+", title.lower())
    return "-".join(words)[:80].rstrip("-") or "case"

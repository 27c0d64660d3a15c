"""The real bugs of `../shared/bugs`, as ASTs and opts, for every test that wants them.

`load_bugs()` gives all of them; without the folder it skips the calling test. Parametrise over
`BUG_IDS` (a plain listing of file names, empty without the folder) to get one test a bug.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kernelref.ir.ast import Alu, Ast, Cast, Constant, Load, Node, Op, Reduce, ReduceOp, Store
from kernelref.ir.dtype import BY_NAME
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.verify import verify
from kernelref.ir.view import View
from kernelref.opt.opt import Opt, OptOps

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("KERNELREF_SHARED", ROOT.parent / "shared"))
BUG_IDS = tuple(sorted(path.stem for path in (SHARED / "bugs").glob("*.json")))
KERNEL_FILES = ("tinygrad-0.8.0.txt.gz", "tinygrad-0.9.1.txt.gz")

_REDUCES = {"SUM": ReduceOp.SUM, "RMAX": ReduceOp.MAX}


@dataclass(frozen=True)
class Bug:
    """One bug. `ast` is None for bugs of the view algebra and of index expressions.

    `inputs` holds values by buffer; `document` is the file as it is.
    """

    id: str
    title: str
    ast: Ast | None
    opts: tuple[Opt, ...]
    expect: str
    correct_outcome: str
    inputs: dict[int, list[float]] = field(default_factory=dict)
    document: dict[str, Any] = field(default_factory=dict)

    @property
    def is_control(self) -> bool:
        """Whether no release is known to fail on it now: it must be right, or refused."""
        return not self.expect.startswith("bug in")

    @property
    def needs_tensor_cores(self) -> bool:
        return "tensor core" in self.document.get("device_note", "")


def kernel_file(name: str) -> Path:
    """The path of a dump of real kernels; skips the calling test without it."""
    path = SHARED / "kernels" / name
    if not path.exists():
        pytest.skip(f"no real kernels at {path}")
    return path


def load_bug(bug_id: str) -> Bug:
    path = SHARED / "bugs" / f"{bug_id}.json"
    if not path.exists():
        pytest.skip(f"no bug files at {path.parent}")
    return _load(path)


def load_bugs() -> tuple[Bug, ...]:
    if not BUG_IDS:
        pytest.skip(f"no bug files at {SHARED / 'bugs'}")
    return tuple(map(load_bug, BUG_IDS))


def kernel_bugs() -> tuple[Bug, ...]:
    """The bugs that are kernels."""
    return tuple(bug for bug in load_bugs() if bug.ast is not None)


@cache
def _load(path: Path) -> Bug:
    document = json.loads(path.read_text(encoding="utf-8"))
    return Bug(
        document["id"],
        document["title"],
        _ast(document["ast"]),
        tuple(Opt(OptOps[op], axis, amt) for op, axis, amt in document["opts"]),
        document["expect"],
        document["correct_outcome"],
        {int(buffer): values for buffer, values in document.get("inputs", {}).items()},
        document,
    )


def _ast(document: Any) -> Ast | None:
    if document is None:
        return None
    stores = document if isinstance(document, list) else [document]
    ast = tuple(_node(store) for store in stores)
    assert all(isinstance(store, Store) for store in ast)
    return verify(ast)  # type: ignore[arg-type]


def _node(entry: dict[str, Any]) -> Node:
    op, arg = entry["op"], entry.get("arg") or {}
    src: Any = tuple(_node(source) for source in entry.get("src", ()))
    match op:
        case "LOAD":
            return Load(arg["buf"], BY_NAME[arg["dtype"]], _st(arg["views"]))
        case "STORE":
            return Store(arg["buf"], BY_NAME[arg["dtype"]], _st(arg["views"]), src[0])
        case "CONST":
            return Constant(arg["value"], BY_NAME[arg["dtype"]], _st(arg["views"]))
        case "CAST":
            return Cast(src[0], BY_NAME[arg["dtype"]])
        case "SUM" | "RMAX":
            return Reduce(_REDUCES[op], src[0], tuple(arg["axis"]))
    return Alu(Op[op], src)


def _st(views: list[dict[str, Any]]) -> ShapeTracker:
    return ShapeTracker(
        tuple(
            View(
                tuple(view["shape"]),
                tuple(view["strides"]),
                view["offset"],
                None if view["mask"] is None else tuple((b, e) for b, e in view["mask"]),
            )
            for view in views
        )
    )

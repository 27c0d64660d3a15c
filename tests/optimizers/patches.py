"""Releases changed in one place, as someone at work on them might: wrong changes and right ones.

A change is a few characters of one line, put in the place of others in a copy of the installed
release. `patched` makes the copy; what is not changed is linked.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kernelref.optimizers.releases import installed

KERNEL, LINEARIZER = "codegen/kernel.py", "codegen/linearizer.py"
CSTYLE, SYMBOLIC = "renderer/cstyle.py", "shape/symbolic.py"


@dataclass(frozen=True, slots=True)
class Patch:
    """`old` stands in `file` of the release `version` and becomes `new`. `wrong`: a kernel of it
    computes something else, or it falls over."""

    says: str
    file: str
    old: str
    new: str
    wrong: bool = True
    version: str = "0.9.1"


PATCHES: Mapping[str, Patch] = {
    # The steps that opts are made of.
    "permute-some": Patch(
        "buffers with several views are reshaped and not permuted",
        KERNEL,
        "if axis is not None: st =",
        "if axis is not None and len(st.views) == 1: st =",
    ),
    "outer-part-swapped": Patch(
        "the outer part has the extent that the inner one should have",
        KERNEL,
        "[amount, x[axis]//amount] if top",
        "[x[axis]//amount, amount] if top",
        wrong=False,
    ),
    "merge-by-one-buffer": Patch(
        "axes merge when those of one buffer do",
        KERNEL,
        "all(can_merge)",
        "any(can_merge)",
        wrong=False,
    ),
    "merge-compares-none": Patch(
        "merging compares strides that are not known",
        KERNEL,
        "last_st == si*sti",
        "last_st >= si*sti",
    ),
    "merge-across-reduce": Patch(
        "output axes may merge with reduced ones",
        KERNEL,
        "and i != self.first_reduce",
        "",
        wrong=False,
    ),
    "ones-keep-locals": Patch(
        "a local axis that vanished stays counted",
        KERNEL,
        "self.local_dims -= sum(all_ones",
        "self.local_dims -= 0*sum(all_ones",
    ),
    "ones-keep-upcasts": Patch(
        "an axis of extent 1 is dropped from the shape of output 0 and not of the others",
        KERNEL,
        "all_ones = [s==1 for s in self.full_shape]",
        "all_ones = [s==1 for s in self.sts[0].shape]",
    ),
    # Checks and effects of opts.
    "amount-need-not-divide": Patch(
        "no check that the amount divides the extent",
        KERNEL,
        "self.full_shape[axis] % amt == 0",
        "True",
    ),
    "padto-unsafe": Patch(
        "sums are padded whatever stands below them",
        KERNEL,
        "op.op not in UNSAFE_PAD_OPS",
        "True",
    ),
    "padto-of-max": Patch(
        "a maximum is padded like a sum",
        KERNEL,
        ".op is ReduceOps.SUM and \\\n",
        ".op is not None and \\\n",
    ),
    "padto-forgets-last": Patch(
        "the last buffer is not padded",
        KERNEL,
        "if self.sts[i].shape[axis] == 1: continue",
        "if self.sts[i].shape[axis] == 1 or i == len(self.sts)-1 > 1: continue",
    ),
    "padto-left": Patch(
        "outputs are padded at the left, inputs at the right",
        KERNEL,
        "((0,ru),)",
        "(((0,ru) if i else (ru,0)),)",
    ),
    "group-without-shared-check": Patch(
        "no check of the shared memory",
        KERNEL,
        "smem_sz <= self.opts.shared_max",
        "True",
    ),
    "group-is-unrolled": Patch(
        "a group counts as an upcast",
        KERNEL,
        "self.group_for_reduces += 1\n    elif opt.op is OptOps.UNROLL",
        "self.upcast()\n    elif opt.op is OptOps.UNROLL",
        wrong=False,
    ),
    # Heuristics.
    "upcast-does-not-divide": Patch(
        "an upcast is chosen that does not divide",
        KERNEL,
        "self.full_shape[axis]%upcast_amount == 0",
        "True",
    ),
    "unroll-one-before": Patch(
        "the axis before the last one is unrolled",
        KERNEL,
        "Opt(OptOps.UNROLL, len(self.full_unupcasted_shape)-1-self.first_reduce, splits)",
        "Opt(OptOps.UNROLL, len(self.full_unupcasted_shape)-2-self.first_reduce, splits)",
    ),
    # Linearizer and renderer.
    "accumulator-of-output": Patch(
        "accumulators are counted by another buffer",
        LINEARIZER,
        "self.acc_offsets(self.full_buf_index)",
        "self.acc_offsets(0)",
    ),
    "accumulators-reversed": Patch(
        "accumulator offsets in another order than the loop",
        KERNEL,
        "for y in range(x[0])] for i,x",
        "for y in reversed(range(x[0]))] for i,x",
    ),
    "store-without-guard": Patch(
        "padded outputs are stored",
        LINEARIZER,
        "if valid.min == 1: stores",
        "if True: stores",
    ),
    "load-without-guard": Patch(
        "masked elements are loaded",
        LINEARIZER,
        "UOp.const(localtype, invalid_value)) if valid.min == 0",
        "UOp.const(localtype, invalid_value)) if valid.max == 0",
    ),
    "float4-unaligned": Patch(
        "four are loaded at once wherever they begin",
        LINEARIZER,
        "if g_idx != (g_idx//amt*amt)",
        "if False",
    ),
    "remainder-folds-early": Patch(
        "x % b becomes x when x may be b",
        SYMBOLIC,
        "if self.min >= 0 and self.max < b: return self",
        "if self.min >= 0 and self.max <= b: return self",
    ),
    "grid-folds-wrong": Patch(
        "axes that share a launch dimension are taken apart by another extent",
        LINEARIZER,
        "size_var //= dim",
        "size_var //= max(1, dim-1)",
    ),
    "late-barrier-dropped": Patch(
        "no barrier between a group's sum and the next reduction",
        LINEARIZER,
        "accs[reduceop])\n        barrier = UOp(UOps.BARRIER, None, tuple(stores))",
        "accs[reduceop])\n        barrier = None",
    ),
    "group-barrier-dropped": Patch(
        "the first work-item of a group reads what others have not stored yet",
        LINEARIZER,
        "UOp(UOps.IF, None, (if_cond, barrier))",
        "UOp(UOps.IF, None, (if_cond, *stores))",
    ),
    "max-starts-at-zero": Patch(
        "the maximum of floats starts at 0",
        LINEARIZER,
        "return -math.inf if",
        "return 0.0 if",
    ),
    "less-or-equal": Patch(
        "< is printed as <=",
        CSTYLE,
        "({a}<{b})",
        "({a}<={b})",
    ),
    "negation-dropped": Patch(
        "the minus of an operand is not printed",
        CSTYLE,
        'f"(-{x})"',
        'f"({x})"',
    ),
    # Right, and otherwise than the release.
    "other-thresholds": Patch(
        "upcasts from 256 points on",
        KERNEL,
        ":self.first_reduce]) >= 1024",
        ":self.first_reduce]) >= 256",
        wrong=False,
    ),
    "other-order": Patch(
        "the last of the choices of an upcast is taken",
        KERNEL,
        "sorted(xb_choices)",
        "sorted(xb_choices)[::-1]",
        wrong=False,
    ),
    "other-locals": Patch(
        "smaller groups",
        KERNEL,
        "local_size * x <= 128",
        "local_size * x <= 32",
        wrong=False,
    ),
    "other-rounding": Patch(
        "padded to twice the multiple",
        KERNEL,
        "cast(int, amt)) - self.sts[i]",
        "2*cast(int, amt)) - self.sts[i]",
        wrong=False,
    ),
    # 0.8.0.
    "permute-some-0.8.0": Patch(
        "buffers with several views are reshaped and not permuted",
        KERNEL,
        "if axis is not None: st =",
        "if axis is not None and len(st.views) == 1: st =",
        version="0.8.0",
    ),
    "padto-left-0.8.0": Patch(
        "outputs are padded at the left, inputs at the right",
        KERNEL,
        "((0,ru),)",
        "(((0,ru) if i else (ru,0)),)",
        version="0.8.0",
    ),
    "store-without-guard-0.8.0": Patch(
        "padded outputs are stored",
        LINEARIZER,
        "if valid.min == 1: stores",
        "if True: stores",
        version="0.8.0",
    ),
    "less-or-equal-0.8.0": Patch(
        "< is printed as <=",
        CSTYLE,
        "({a}<{b})",
        "({a}<={b})",
        version="0.8.0",
    ),
}


def patched(name: str, folder: Path) -> Path | None:
    """A copy of the installed release with one change, in `folder`; None where it is not here."""
    patch = PATCHES[name]
    release = installed(patch.version)
    if release is None:
        return None
    package = folder / "tinygrad"
    shutil.copytree(
        release.folder / "tinygrad",
        package,
        copy_function=os.link,
        ignore=shutil.ignore_patterns("__pycache__", "autogen"),
    )
    path = package / patch.file
    text = path.read_text(encoding="utf-8")
    assert text.count(patch.old) >= 1, f"{name}: not in {patch.file}"
    path.unlink()
    path.write_text(text.replace(patch.old, patch.new), encoding="utf-8")
    for other in release.folder.iterdir():
        if other.name != "tinygrad" and other.is_dir():
            (folder / other.name).symlink_to(other)
    return folder

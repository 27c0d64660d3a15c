"""Faults in the machine and the oracle. A check that is gone shows on a kernel that is wrong."""

from __future__ import annotations

from kernelref.fuzzing.mutants.hand import planted, regress, seed
from kernelref.fuzzing.mutants.mutant import MISSED, Mutant

MACHINE = "run.interp"

CHECKS: tuple[Mutant, ...] = (
    planted(
        "reads-do-not-race",
        f"{MACHINE}.memory:Memory.write",
        "if race is None and self._reader is not None:",
        "if race is not None and self._reader is not None:",
        says="a write after another work-item's read is no race",
        probe=regress("grouped-max-of-sums"),
        expects=MISSED,
        beside="barrier-after-late-reduce-missing",
    ),
    planted(
        "writes-do-not-race",
        f"{MACHINE}.memory:Memory.read",
        "return self._writer.conflict(places, items, self.epoch, group_size)",
        "return None",
        says="a read after another work-item's write is no race",
        probe=regress("group-inner-row-sums"),
        expects=MISSED,
        beside="barrier-before-late-reduce-missing",
    ),
    planted(
        "bounds-one-late",
        f"{MACHINE}.machine:Machine.place",
        "if index.low < 0 or index.high + lanes > elements:",
        "if index.low < 0 or index.high + lanes > elements + 8:",
        says="an access just beyond a memory is not looked at",
        probe=regress("matmul-local"),
        expects=MISSED,
        beside="size-one-short",
    ),
    planted(
        "alignment-unchecked",
        f"{MACHINE}.machine:Machine.place",
        "if lanes > 1:",
        "if lanes > 4:",
        says="vectors may lie anywhere",
        probe=regress("unaligned-rows"),
        expects=MISSED,
        beside="vector-without-alignment",
    ),
    planted(
        "divergence-unseen",
        f"{MACHINE}.machine:Machine.meet",
        "if split.any():",
        "if split.all() and not split.any():",
        says="a barrier that some work-items do not reach is passed",
        probe=regress("group-inner-row-sums"),
        expects=MISSED,
        beside="barrier-under-guard",
    ),
    planted(
        "uninitialised-unseen",
        f"{MACHINE}.memory:Memory.first_without_value",
        "if self.holds_value is None or (found := self.holds_value[places]).all():",
        "if self.epoch >= 0 or (found := self.holds_value[places]).all():",
        says="reading what nobody wrote is no fault",
        probe=regress("grouped-row-sums"),
        expects=MISSED,
        beside="first-register-only-is-shared",
    ),
    planted(
        "overflow-unseen",
        f"{MACHINE}.indexing:Indices._at",
        "if not is_wide and (result.low < INT_LOW or result.high > INT_HIGH):",
        "if is_wide and (result.low < INT_LOW or result.high > INT_HIGH):",
        says="an index beyond 32 bits is no fault",
        probe=regress("far-addresses"),
        expects=MISSED,
        beside="int-is-always-enough",
    ),
    planted(
        "unwritten-unseen",
        f"{MACHINE}.device:launch_program",
        "if missing.size and fault is None:",
        "if missing.size and fault is not None:",
        says="an output that nobody wrote is no fault",
        probe=seed("transpose", ("UPCAST", 0, 5)),
        expects=MISSED,
        beside="registers-one-short",
    ),
)

MEANING: tuple[Mutant, ...] = (
    planted(
        "barrier-does-not-end-an-epoch",
        f"{MACHINE}.machine:Machine.meet",
        "memory.epoch += 1",
        "memory.epoch += 0",
        says="accesses before and after a barrier race",
        probe=regress("group-inner-row-sums"),
        expects="RACE",
    ),
    planted(
        "masked-loads-give-what-lies-there",
        f"{MACHINE}.machine:Machine.load",
        "return tuple(v if mask is None else np.where(mask, v, zero) for v in values)",
        "return tuple(values)",
        says="a masked load gives an element instead of 0",
        probe=regress("padded-window"),
        expects="WRONG_VALUE",
    ),
    planted(
        "stores-ignore-their-guard",
        f"{MACHINE}.machine:Machine.step",
        "self.store(name, index(address), self.where(index(guard)), operand)",
        "self.store(name, index(address), frame.active, operand)",
        says="a store writes where its guard is 0",
        probe=regress("padded-matmul"),
        expects="OUT_OF_BOUNDS",
    ),
    planted(
        "batched-terms-forget-the-start",
        f"{MACHINE}.machine:Machine.fold",
        "start = self.scalar(combine.left)",
        "start = semantics.constant(0, combine.dtype)",
        says="a batch of a loop starts from 0 instead of the accumulator",
        probe=regress("maxima-of-negatives"),
        expects="WRONG_VALUE",
    ),
    planted(
        "oracle-reads-behind-masks",
        "run.oracle:Walk.leaf",
        "if valid is not True:",
        "if valid is None:",
        says="the oracle takes element 0 for what is masked",
        probe=regress("padded-window"),
        expects="WRONG_VALUE",
    ),
    planted(
        "oracle-forgets-a-box",
        "run.oracle:boxes",
        "for begin in range(0, extents[split - 1], step):",
        "for begin in range(0, extents[split - 1] - 1, step):",
        says="the oracle leaves out the last box of one",
        probe=regress("matmul-local"),
        equivalent="at this size there is one box: the oracle against itself in boxes shows it",
    ),
)

RUN = (*CHECKS, *MEANING)

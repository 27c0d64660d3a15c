from __future__ import annotations

from collections.abc import Iterator

import pytest

from kernelref.run.isolate import DevicePool
from kernelref.run.job import Budget
from kernelref.run.oclgrind import parse_log
from kernelref.run.outcome import Outcome
from tests.run.device_launches import DIVERGENT, GOOD, INPUT, launch, need_device

LOG = """
Invalid read of size 4 at global memory address 0x3000000000020
\tKernel: f
\tEntity: Global(7,0,0) Local(3,0,0) Group(1,0,0)
\t  %1 = load float, float addrspace(1)* %arrayidx, align 4, !dbg !25
\tAt line 1 (column 78) of input.cl:
\t  o[get_global_id(0)]=a[get_global_id(0)+1];

Uninitialized value written to global memory address 0x200000000001c
\tKernel: f
\tEntity: Global(7,0,0) Local(3,0,0) Group(1,0,0)
\tAt line 1 (column 77) of input.cl:

Invalid read of size 4 at global memory address 0x3000000000024
\tKernel: f
\tEntity: Global(8,0,0) Local(3,0,0) Group(1,0,0)

Oclgrind: 3 errors generated - suppressing further errors
"""


def test_a_log_becomes_findings_gravest_cause_first_one_a_kind() -> None:
    findings = parse_log(LOG)
    assert [f.outcome for f in findings] == [Outcome.OUT_OF_BOUNDS, Outcome.UNINITIALISED]
    assert findings[0].message == (
        "Invalid read of size 4 at global memory address 0x3000000000020; "
        "Entity: Global(7,0,0) Local(3,0,0) Group(1,0,0); "
        "At line 1 (column 78) of input.cl:"
    )


@pytest.mark.parametrize(
    ("headline", "outcome"),
    [
        ("Work-group divergence detected (barrier)", Outcome.BARRIER_DIVERGENCE),
        ("Write-write data race at local memory address 0x10", Outcome.RACE),
        ("Read-write data race at global memory address 0x10", Outcome.RACE),
        ("Invalid write to read-only buffer", Outcome.OUT_OF_BOUNDS),
        ("Index (4) exceeds static array size (4)", Outcome.OUT_OF_BOUNDS),
        ("Invalid memory store - source pointer is not aligned", Outcome.TRAP),
        ("Controlflow depends on uninitialized value", Outcome.UNINITIALISED),
        ("OCLGRIND FATAL ERROR (x.cpp:1)", Outcome.UNSUPPORTED),
        ("Something it never said before", Outcome.HARNESS_ERROR),
    ],
)
def test_every_message_has_a_meaning(headline: str, outcome: Outcome) -> None:
    (finding,) = parse_log(f"\n{headline}\n\tKernel: f\n\n")
    assert finding.outcome is outcome


def test_an_empty_log_is_no_finding() -> None:
    assert parse_log("") == parse_log("\n\n") == ()


SHARED = "__local float t[8]; t[l] = a[i]; "
BARRIER = "barrier(CLK_LOCAL_MEM_FENCE); "
BODIES = {
    "write-write race": ("o[i] = a[i]; if (i < 2) o[0] = i;", Outcome.RACE),
    "equal values race too": ("o[i] = a[i]; if (i < 2) o[0] = 1.0f;", Outcome.RACE),
    "race between groups": ("o[i] = a[i]; if (l == 0) o[1] = g;", Outcome.RACE),
    "lost barrier": (SHARED + "o[i] = t[3 - l];", Outcome.RACE),
    "kept barrier": (SHARED + BARRIER + "o[i] = t[3 - l];", None),
    "uninitialised shared": (SHARED + BARRIER + "o[i] = t[l + 4];", Outcome.UNINITIALISED),
    "uninitialised register": ("float x; if (a[0] > 9.0f) x = 1.0f; o[i] = x;",
                               Outcome.UNINITIALISED),
    "shared out of bounds": (SHARED + "t[l + 5] = 0.0f; o[i] = t[l];", Outcome.OUT_OF_BOUNDS),
    "read out of bounds": ("o[i] = a[i + 1];", Outcome.OUT_OF_BOUNDS),
    "misaligned vector": ("o[i] = a[i]; *(__global float4 *)(o + 1) = (float4)(1.0f);",
                          Outcome.TRAP),
    "divergent barrier": (DIVERGENT, Outcome.BARRIER_DIVERGENCE),
    "vector lanes": ("float4 v = *(__global float4 *)(a + 4 * g);"
                     " float4 w = *(__global float4 *)(a + 4 * g); if (l == 0)"
                     " *(__global float4 *)(o + 4 * g) ="
                     " (float4)(v.x + w.x, v.y + w.y, v.z + w.z, v.w + w.w);", None),
}  # fmt: skip


@pytest.fixture(scope="module")
def pool() -> Iterator[DevicePool]:
    need_device("oclgrind")
    with DevicePool("oclgrind", budget=Budget(launch_seconds=30.0)) as opened:
        yield opened


def test_every_rule_is_checked_and_each_kernel_gets_its_own_part_of_the_log(
    pool: DevicePool,
) -> None:
    launches = [item for body, _ in BODIES.values() for item in (launch(body), launch(GOOD))]
    results = list(pool.run(launches))
    for (name, (_, outcome)), result in zip(BODIES.items(), results[::2], strict=True):
        assert result.fault is outcome, (name, result)
    for good in results[1::2]:
        assert good.fault is None, good
        assert (good.outputs[0] == INPUT + 1).all()


def test_a_kernel_with_many_findings_does_not_silence_the_next(pool: DevicePool) -> None:
    flood = launch("for (int n = 0; n < 100; n++) o[i] = a[i + 1000 + n];")
    results = list(pool.run([flood, launch(BODIES["lost barrier"][0])]))
    assert [r.fault for r in results] == [Outcome.OUT_OF_BOUNDS, Outcome.RACE]

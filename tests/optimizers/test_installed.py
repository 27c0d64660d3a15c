"""A release as an Optimizer: the three answers, restored states, restarts, rendered text."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kernelref.errors import Unsupported
from kernelref.opt.limits import OPENCL, PRESETS, Limits
from kernelref.opt.opt import Opt, OptOps
from kernelref.optimizers.installed import InstalledOptimizer, InstalledSession
from kernelref.optimizers.interface import Accepted, Broke, Heuristics, Refused
from kernelref.optimizers.releases import Release, checkout
from tests.optimizers.kernels import elementwise, matmul


def opened(optimizer: InstalledOptimizer, limits: Limits = OPENCL, size: int = 16):
    session = optimizer.open(matmul(size, size, size), limits)
    assert isinstance(session, InstalledSession)
    return session


def test_accepted(installed: InstalledOptimizer) -> None:
    session = opened(installed)
    assert session.state.full_shape == (16, 16, 16)
    assert session.state.output_shape == (16, 16, 1)
    assert session.state.colors == ("blue", "blue", "red")
    answer = session.apply(Opt(OptOps.UPCAST, 1, 4))
    assert isinstance(answer, Accepted)
    assert answer.state.full_shape == (16, 4, 16, 4)
    assert answer.state.colors == ("blue", "blue", "red", "yellow")
    assert answer.state.applied_opts == (Opt(OptOps.UPCAST, 1, 4),)
    assert answer.state.buffers[0].real_strides == (16, 4, 0, 1)
    assert answer.state.buffers[1].last_strides == (16, 0, 1, 0)


def test_refused_and_the_state_restored(installed: InstalledOptimizer) -> None:
    session = opened(installed)
    before = session.state
    answer = session.apply(Opt(OptOps.UPCAST, 0, 3))
    assert isinstance(answer, Refused)
    assert answer.reason == "no longer valid shift"
    # 0.8.0 appends the opt before it asserts.
    assert answer.changed == (installed.release.version == "0.8.0")
    assert session.state == before
    accepted = session.apply(Opt(OptOps.UPCAST, 0, 2))
    assert isinstance(accepted, Accepted)
    assert accepted.state.applied_opts == (Opt(OptOps.UPCAST, 0, 2),)


def test_broke_is_not_refused(installed: InstalledOptimizer) -> None:
    session = opened(installed)
    answer = session.apply(Opt(OptOps.UPCAST, 0, None))
    assert isinstance(answer, Broke)
    assert answer.kind == "AssertionError"
    assert isinstance(session.apply(Opt(OptOps.UPCAST, 0, 2)), Accepted)


def test_an_assertion_of_the_kernel_is_a_refusal_in_0_8_0_alone(
    installed: InstalledOptimizer,
) -> None:
    session = opened(installed)
    session.apply(Opt(OptOps.UNROLL, 0, 4))
    answer = session.apply(Opt(OptOps.UPCAST, 99, 4))
    if installed.release.version == "0.8.0":
        assert isinstance(answer, Broke)
        assert answer.kind == "IndexError"
    else:
        assert answer == Refused("invalid axis")


def test_limits_are_the_callers_not_the_hosts(installed: InstalledOptimizer) -> None:
    no_local = opened(installed, PRESETS["clang"]).apply(Opt(OptOps.LOCAL, 0, 4))
    assert isinstance(no_local, Refused)
    assert "does not support local" in no_local.reason
    if installed.release.version != "0.8.0":
        grouped = opened(installed, Limits(shared_max=64)).apply(Opt(OptOps.GROUP, 0, 8))
        assert isinstance(grouped, Accepted)
        grouped = opened(installed, Limits(shared_max=31)).apply(Opt(OptOps.GROUP, 0, 8))
        assert isinstance(grouped, Refused)
        assert "needs 32, max 31" in grouped.reason


@pytest.mark.parametrize("level", [0, 1, 2])
def test_tensor_cores_come_from_the_limits(installed: InstalledOptimizer, level: int) -> None:
    metal = PRESETS["metal"]
    limits = Limits(tensor_cores=metal.tensor_cores, tc=level)
    answer = opened(installed, limits, 64).optimize(Heuristics.ENGINE)
    assert isinstance(answer, Accepted)
    assert (answer.state.warp_axes > 0) == (level == 1)
    first = answer.state.applied_opts[0]
    if installed.release.version != "0.8.0":
        assert (first.op is OptOps.TC) == (level > 0)


def test_sessions_survive_their_worker(installed: InstalledOptimizer) -> None:
    session = opened(installed)
    session.apply(Opt(OptOps.LOCAL, 0, 4))
    before = session.state
    installed.worker.close()
    answer = session.apply(Opt(OptOps.UPCAST, 1, 4))
    assert isinstance(answer, Accepted)
    assert answer.state.applied_opts == (*before.applied_opts, Opt(OptOps.UPCAST, 1, 4))


def test_rendered_text(installed: InstalledOptimizer) -> None:
    session = opened(installed)
    plain = session.render()
    assert not isinstance(plain, Broke)
    assert plain.arguments == (0, 1, 2)
    assert plain.text.startswith(f"__kernel void {plain.name}(__global float* data0")
    assert sorted(plain.global_size) == [1, 16, 16]
    session.optimize(Heuristics.HAND_CODED)
    optimised = session.render()
    assert not isinstance(optimised, Broke)
    assert optimised.local_size is not None
    assert optimised == session.render(), "rendering twice gives one text"


def test_search_actions(installed: InstalledOptimizer) -> None:
    actions = installed.actions()
    assert len(actions) == (100 if installed.release.version == "0.8.0" else 141)
    kept = opened(installed).kept_actions()
    assert not isinstance(kept, Broke)
    assert Opt(OptOps.UPCAST, 0, 4) in [actions[index] for index in kept]


def test_an_ast_outside_the_dialect_is_unsupported(installed: InstalledOptimizer) -> None:
    two = (*elementwise(4, 4), *elementwise(4, 4))
    if installed.release.version == "0.8.0":
        with pytest.raises(Unsupported, match="several-outputs"):
            installed.open(two, OPENCL)


def patched(tmp_path: Path, release: Release, old: str, new: str) -> InstalledOptimizer:
    """A checkout in which one line of kernel.py is another."""
    folder = tmp_path / "checkout"
    shutil.copytree(release.folder, folder)
    source = folder / "tinygrad" / "codegen" / "kernel.py"
    text = source.read_text()
    assert old in text
    source.write_text(text.replace(old, new))
    return InstalledOptimizer(checkout(str(folder)), timeout=3)


CHECK = 'check(axis < len(self.full_shape), "invalid axis")'


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("__import__('os').abort()", "crash"),
        ("__import__('time').sleep(1000)", "hang"),
        ("1 // 0", "ZeroDivisionError"),
        ("__import__('sys').exit(1)", "crash"),
    ],
)
def test_a_fault_in_one_opt_is_an_answer_and_the_rest_goes_on(
    tmp_path: Path, release_0_9_1: Release, fault: str, kind: str
) -> None:
    optimizer = patched(tmp_path, release_0_9_1, CHECK, f"if opt.amt == 8: {fault}\n    {CHECK}")
    session = opened(optimizer)
    assert isinstance(session.apply(Opt(OptOps.LOCAL, 0, 4)), Accepted)
    broke = session.apply(Opt(OptOps.UPCAST, 1, 8))
    assert isinstance(broke, Broke)
    assert broke.kind == kind
    answer = session.apply(Opt(OptOps.UPCAST, 1, 4))
    assert isinstance(answer, Accepted)
    assert [opt.amt for opt in answer.state.applied_opts] == [4, 4]
    optimizer.close()

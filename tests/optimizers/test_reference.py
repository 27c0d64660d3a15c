"""The reference behind the interface: answers, words, search, users' heuristics."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelref.cases.corpus import corpus_root
from kernelref.cases.sources import KernelSource, kernels
from kernelref.errors import InvalidInput, Unsupported
from kernelref.opt.candidates import search_actions, search_children
from kernelref.opt.kernel import Kernel
from kernelref.opt.limits import OPENCL, PRESETS
from kernelref.opt.opt import Opt, OptOps
from kernelref.opt.rules.sets import RULE_SETS
from kernelref.optimizers.dialect import translate
from kernelref.optimizers.installed import InstalledOptimizer, InstalledSession
from kernelref.optimizers.interface import Accepted, Broke, Heuristics, Refused
from kernelref.optimizers.names import open_optimizer
from kernelref.optimizers.reference import ReferenceOptimizer, ReferenceSession
from tests.optimizers.kernels import elementwise, matmul

NEWEST = RULE_SETS["tinygrad-0.9.1"]

HEURISTIC = """
from kernelref.opt.opt import Opt, OptOps

def listed(kernel):
    return [Opt(OptOps.LOCAL, 0, 4), Opt(OptOps.UPCAST, 1, 2)]

def built(kernel):
    return kernel.apply_opt(Opt(OptOps.UPCAST, 0, 8))

def illegal(kernel):
    return [Opt(OptOps.UPCAST, 0, 3)]

number = 5
"""


def opened(name: str = "reference", **more: object) -> ReferenceSession:
    optimizer = open_optimizer(name, **more)  # type: ignore[arg-type]
    session = optimizer.open(matmul(), OPENCL)
    assert isinstance(session, ReferenceSession)
    return session


def test_accepted_and_the_state() -> None:
    session = opened()
    before = session.state
    answer = session.apply(Opt(OptOps.LOCAL, 0, 4))
    assert isinstance(answer, Accepted)
    assert answer.state == session.state != before
    assert answer.state.colors == ("blue", "blue", "cyan", "red")
    assert answer.state.buffers[0].masked == frozenset()


def test_a_refusal_has_the_checks_name_and_the_releases_words() -> None:
    ours = opened().apply(Opt(OptOps.UPCAST, 0, 3))
    assert isinstance(ours, Refused)
    assert ours.check == "amount-divides"
    theirs = opened(rules=NEWEST).apply(Opt(OptOps.UPCAST, 0, 3))
    assert isinstance(theirs, Refused)
    assert (theirs.check, theirs.reason) == ("amount-divides", "no longer valid shift")
    assert not theirs.changed


def test_a_breakage_is_copied_from_the_release_alone() -> None:
    copied = opened(rules=NEWEST).apply(Opt(OptOps.UPCAST, -2, 4))
    assert isinstance(copied, Broke)
    assert copied.check == "axis-not-negative"
    assert isinstance(opened().apply(Opt(OptOps.UPCAST, -2, 4)), Refused)


def test_what_typed_axes_cannot_hold_is_unsupported() -> None:
    session = opened(rules=NEWEST)
    with pytest.raises(Unsupported, match="counters-do-not-fit"):
        session.apply(Opt(OptOps.UNROLL, -1, 0))


@pytest.mark.parametrize("rules", [r for r in RULE_SETS if r != "sound"])
def test_the_words_of_every_check_stand_in_the_release(
    installed: InstalledOptimizer, rules: str
) -> None:
    if installed.rules != rules:
        return
    source = (installed.release.folder / "tinygrad" / "codegen" / "kernel.py").read_text()
    for checks in RULE_SETS[rules].checks.values():
        for check in checks:
            if not check.breaks:
                assert check.upstream, check.name
                assert check.upstream in source, check.name


def test_search_actions_are_the_releases(installed: InstalledOptimizer) -> None:
    assert search_actions(RULE_SETS[installed.rules]) == installed.actions()


@pytest.mark.parametrize("name", ["matmul", "softmax-sum", "image-average", "conv2d"])
@pytest.mark.parametrize("limits", ["opencl", "metal"])
def test_search_keeps_what_the_release_keeps(
    installed: InstalledOptimizer, name: str, limits: str
) -> None:
    (source,) = kernels([str(corpus_root() / "seeds" / f"{name}.json")])
    assert isinstance(source, KernelSource)
    ast = translate(source.ast, installed.dialect)
    session = installed.open(ast, PRESETS[limits])
    assert isinstance(session, InstalledSession)
    kept = session.kept_actions()
    assert not isinstance(kept, Broke)
    kernel = Kernel.open(ast, PRESETS[limits], RULE_SETS[installed.rules])
    actions = installed.actions()
    assert [opt for opt, _ in search_children(kernel)] == [actions[index] for index in kept]
    assert kept


@pytest.fixture
def heuristics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_heuristics.py").write_text(HEURISTIC)
    (tmp_path / "my_broken.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("heuristics")
def test_a_users_heuristic_replaces_the_hand_coded_ones() -> None:
    listed = opened("reference:my_heuristics:listed").optimize(Heuristics.HAND_CODED)
    assert isinstance(listed, Accepted)
    assert [opt.op for opt in listed.state.applied_opts] == [OptOps.LOCAL, OptOps.UPCAST]
    built = opened("reference:my_heuristics:built").optimize(Heuristics.ENGINE)
    assert isinstance(built, Accepted)
    assert built.state.applied_opts == (Opt(OptOps.UPCAST, 0, 8),)
    illegal = opened("reference:my_heuristics:illegal").optimize(Heuristics.ENGINE)
    assert isinstance(illegal, Broke)
    assert illegal.check == "asks-for-illegal-opt"
    assert "amount-divides" in illegal.reason


WRONG: tuple[tuple[str, str], ...] = (
    ("def f(k): raise KeyError('x')", "heuristic-fails"),
    ("def f(k): raise SystemExit(0)", "heuristic-fails"),
    ("def f(k): return 5", "no-opts"),
    ("def f(k): return 'UPCAST'", "no-opts"),
    ("def f(k): return [None]", "no-opts"),
    ("from kernelref.opt.opt import Opt, OptOps\n"
     "def f(k): return [Opt(OptOps.UPCAST, 0.0, 2.0)]", "no-opts"),
    ("def f(k):\n  while True:\n    try: pass\n    except Exception: pass", "heuristic-fails"),
    ("from dataclasses import replace\n"
     "def f(k): return replace(k, ast=(*k.ast, *k.ast))", "kernel-of-another-ast"),
)  # fmt: skip


@pytest.mark.parametrize(("text", "check"), WRONG)
def test_whatever_a_heuristic_does_wrong_is_an_answer(
    text: str, check: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernelref.optimizers.reference.HEURISTIC_SECONDS", 0.2)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = f"wrong_{abs(hash(text))}"
    (tmp_path / f"{module}.py").write_text(text)
    answer = opened(f"reference:{module}:f").optimize(Heuristics.HAND_CODED)
    assert isinstance(answer, Broke)
    assert answer.check == check


def test_what_a_heuristic_prints_is_no_output_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "talker.py").write_text("def f(k):\n    print('hello')\n    return []\n")
    assert isinstance(opened("reference:talker:f").optimize(Heuristics.HAND_CODED), Accepted)
    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("heuristics")
def test_required_opts_stay_required() -> None:
    answer = opened("reference:my_heuristics:built").optimize(Heuristics.REQUIRED)
    assert isinstance(answer, Accepted)
    assert answer.state.applied_opts == ()


@pytest.mark.usefixtures("heuristics")
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("nowhere_to_be_found:f", "cannot import nowhere_to_be_found"),
        ("my_heuristics:missing", "no function 'missing'"),
        ("my_heuristics:number", "no function 'number'"),
        ("my_heuristics", "no function ''"),
        (":f", "'' is no module"),
        ("my heuristics:f", "is no module"),
        ("my_broken:f", "cannot import my_broken: ZeroDivisionError"),
    ],
)
def test_a_heuristic_that_is_not_there_is_bad_input(spec: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        open_optimizer(f"reference:{spec}")


def test_names_and_rules() -> None:
    optimizer = open_optimizer("reference", rules=NEWEST)
    assert (optimizer.name, optimizer.rules) == ("reference", "tinygrad-0.9.1")
    assert isinstance(optimizer, ReferenceOptimizer)
    assert isinstance(optimizer.open(elementwise(4, 4), OPENCL), ReferenceSession)
    optimizer.close()

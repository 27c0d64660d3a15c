"""Planted faults are noticed, each by what should notice it; `kernelref selftest` runs them all."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace

import pytest

from kernelref.errors import InvalidInput
from kernelref.fuzzing.mutants.draw import COUNT, FRAME, MEANINGS, read_drawn, redrawn
from kernelref.fuzzing.mutants.fuzzed import NEAREST, ORDER, found, order_for
from kernelref.fuzzing.mutants.kill import Kill, Processes, kills, probes_of
from kernelref.fuzzing.mutants.mutant import CONFORM, Edit, region, source_of
from kernelref.fuzzing.mutants.question import Ended, Probe
from kernelref.fuzzing.mutants.registry import BY_HAND, DRAWN, MUTANTS, mutant_named
from kernelref.fuzzing.mutants.sites import sites
from kernelref.fuzzing.mutants.suite import make_suite
from kernelref.fuzzing.mutants.trial import Verdict
from kernelref.fuzzing.mutants.verdicts import EQUIVALENT
from kernelref.jobs import selftest as selftest_job
from kernelref.report.mutants import head
from kernelref.run.outcome import Outcome
from tests.repo.packages import PACKAGE, imports, modules

# One for each outcome, folder and way of noticing, as far as one input shows it.
SHOWN = (
    "pad-without-mask",
    "flip-keeps-sign",
    "reshape-joins-a-broadcast",
    "padto-pads-the-front",
    "upcast-of-a-reduced-axis",
    "trap-unchecked",
    "new-axis-one-place-early",
    "locals-without-limit",
    "barrier-before-late-reduce-missing",
    "barrier-under-guard",
    "first-register-only-is-shared",
    "registers-one-short",
    "int-is-always-enough",
    "vector-without-alignment",
    "reads-do-not-race",
    "oracle-reads-behind-masks",
)

# Mutants and an input that comes out wrong with each: what the prover may not call proved.
WRONG_AND_STORED = (
    ("shared-array-one-short", "regress/group-inner-row-sums", "REFUTED program bounds"),
    ("shared-places-too-far", "regress/group-inner-row-sums", "REFUTED program bounds"),
    ("and-keeps-the-first", "regress/padded-matmul", "REFUTED program bounds"),
    ("and-keeps-the-first", "regress/far-addresses", "REFUTED program domain"),
    ("grid-guard-includes-the-end", "regress/prime-row", "REFUTED program bounds"),
    ("grid-without-guard", "regress/prime-row", "REFUTED program bounds"),
    ("grid-folded-by-the-wrong-size", "regress/prime-row", "REFUTED program domain"),
    ("view-merge-stays-within-operator", "regress/wrapping-stack", "ASSUMES"),
    ("maximum-starts-at-0", "regress/maxima-of-negatives", "REFUTED program domain"),
    ("barrier-under-guard", "regress/group-inner-row-sums", "REFUTED program races"),
    ("cast-within-a-width-left-out", "seeds/sign-bit", "REFUTED program domain"),
    (
        "index-simplify-cmod-constant",
        "regress/offset-by-a-c-remainder",
        "REFUTED program domain",
    ),
)


def test_there_are_enough_and_half_are_drawn():
    assert len(DRAWN) == COUNT
    assert len(BY_HAND) >= COUNT
    assert len(MUTANTS) == len(BY_HAND) + len(DRAWN) >= 60
    assert len({mutant.edits for mutant in MUTANTS.values()}) == len(MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=lambda mutant: mutant.name)
def test_a_mutant_applies(mutant):
    for edit in mutant.edits:
        source = source_of(edit.module)
        changed = edit.apply(source)
        assert changed != source
        compile(changed, edit.module, "exec")


@pytest.mark.parametrize("mutant", BY_HAND, ids=lambda mutant: mutant.name)
def test_what_is_written_by_hand_names_one_place_and_what_must_notice_it(mutant):
    for edit in mutant.edits:
        begin, end = region(source_of(edit.module), edit.within) if edit.within else (0, None)
        assert source_of(edit.module)[begin:end].count(edit.before) == 1
    assert mutant.probe is not None
    assert bool(mutant.expects) != bool(mutant.equivalent)
    assert not mutant.beside or MUTANTS[mutant.beside].expects in Outcome.__members__


def test_every_fault_that_one_input_can_show_is_shown_by_an_outcome_of_its_own():
    told = {mutant.expects for mutant in BY_HAND}
    machine = {"WRONG_VALUE", "UNWRITTEN", "OUT_OF_BOUNDS", "UNINITIALISED", "RACE"}
    assert machine | {"BARRIER_DIVERGENCE", "INDEX_OVERFLOW", "TRAP", "REFUSED", CONFORM} <= told
    assert {MUTANTS[name].expects for name in SHOWN} >= machine | {"BARRIER_DIVERGENCE", "TRAP"}


def test_planted_faults_are_noticed():
    chosen = [mutant_named(name) for name in SHOWN]
    suite = make_suite(probes_of(chosen), is_whole=False)
    found = {kill.mutant.name: kill for kill in kills(chosen, MUTANTS, suite, only=True)}
    assert {
        name: str(kill.verdict.ended) for name, kill in found.items() if kill.is_unexpected
    } == {}
    assert {kill.status for kill in found.values()} == {"killed"}
    assert {kill.verdict.asked for kill in found.values()} <= {1, 2}


def test_what_comes_out_wrong_is_not_proved():
    """Planted faults of lowering and of index expressions, which the prover uses itself."""
    chosen = []
    for name, case, _ in WRONG_AND_STORED:
        mutant = mutant_named(name)
        target = "small-grid" if name.startswith("grid-") else "full"
        opts = None if mutant.probe is None or mutant.probe.is_built else mutant.probe.opts
        probe = Probe(case, opts=opts, target=target)
        chosen.append(replace(mutant, name=f"{name} {case}", probe=probe))
    suite = make_suite(probes_of(chosen), is_whole=False)
    asked = kills(chosen, MUTANTS, suite, only=True, proves=True)
    said = {kill.mutant.name: kill.verdict.proof.split(":")[0] for kill in asked}
    assert said == {f"{name} {case}": wanted for name, case, wanted in WRONG_AND_STORED}


def test_the_tests_of_fuzz_are_run_with_the_fault_planted():
    with Processes() as running:
        ended = found(mutant_named("oracle-reads-behind-masks").edits, PACKAGE.parent, running)
    assert ended.test.startswith("fuzz/test_kernels.py::")
    assert not ended.is_hung


def test_what_looks_most_at_a_changed_module_comes_first_and_nothing_is_left_out():
    files = {path.stem for path in (PACKAGE.parent / "fuzz").glob("test_*.py")}
    assert set(ORDER) == files
    assert set(NEAREST.values()) <= files
    for module, first in NEAREST.items():
        assert any(source.startswith(module) for source in FRAME)
        order = order_for((Edit(module, "", "", ""),))
        assert order[0] == first
        assert set(order) == files


def test_an_interrupted_run_tells_what_it_knows(monkeypatch):
    def interrupted(chosen, processes):
        yield Kill(chosen[0], Verdict(chosen[0].name, Ended("FAILED"), "a test", 1, 0.5))
        raise KeyboardInterrupt

    monkeypatch.setattr(selftest_job, "under_fuzz", interrupted)
    told = selftest_job.selftest(selftest_job.SelftestRequest(with_fuzz=True)).as_json()
    assert told["interrupted"]
    assert [row["input"] for row in told["kills"]] == ["a test"]


def test_a_mutant_that_changes_nothing_survives():
    same = Edit("kernelref.opt.simplify", "_continues", "outer == 0", "outer == 0 ")
    harmless = type(BY_HAND[0])("harmless", (same,), "nothing", BY_HAND[0].probe)
    suite = make_suite(probes_of([harmless]), is_whole=False)
    (kill,) = kills([harmless], MUTANTS, suite, only=True)
    assert kill.status == "survived"


def test_a_mutant_that_cannot_be_imported_says_so():
    broken = Edit("kernelref.opt.simplify", "_continues", "return bool(", "return bool)(")
    mutant = type(BY_HAND[0])("broken", (broken,), "no Python", BY_HAND[0].probe)
    suite = make_suite(probes_of([mutant]), is_whole=False)
    (kill,) = kills([mutant], MUTANTS, suite, only=True)
    assert kill.verdict.at_import
    assert kill.verdict.ended.outcome == "HARNESS_ERROR"


def test_planting_is_refused_once_the_module_is_there():
    script = (
        "import kernelref.opt.simplify\n"
        "from kernelref.fuzzing.mutants.plant import plant\n"
        "from kernelref.fuzzing.mutants.registry import MUTANTS\n"
        "plant(MUTANTS['merge-across-reductions'].edits)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "imported before it could be changed" in ended.stderr


def test_planting_changes_no_file():
    script = (
        "from kernelref.fuzzing.mutants.plant import plant\n"
        "from kernelref.fuzzing.mutants.registry import MUTANTS\n"
        "plant(MUTANTS['merge-across-reductions'].edits)\n"
        "import inspect, kernelref.opt.simplify as changed\n"
        "print(changed.merge_groups.__code__.co_names)\n"
        "print(changed.__cached__, inspect.getsource(changed) == open(changed.__file__).read())\n"
    )
    before = {path: path.stat().st_mtime_ns for path in PACKAGE.rglob("simplify*")}
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert ended.stdout.endswith("True\n")
    assert before == {path: path.stat().st_mtime_ns for path in PACKAGE.rglob("simplify*")}


def test_nothing_outside_knows_of_mutants():
    knows = set()
    for path in modules():
        if any(name.startswith("kernelref.fuzzing.mutants") for _, name in imports(path)):
            knows.add(path.relative_to(PACKAGE).as_posix())
    inside = {name for name in knows if name.startswith("fuzzing/mutants/")}
    allowed = {"jobs/selftest.py", "report/mutants.py", "report/selftest.py"}
    assert knows - inside <= allowed


def test_what_was_drawn_stays_drawn():
    entries = read_drawn()
    assert redrawn(entries) == entries
    assert {entry["module"] for entry in entries} <= set(FRAME)
    assert not {entry["within"] for entry in entries} & MEANINGS
    assert EQUIVALENT.keys() <= {mutant.name for mutant in DRAWN}


def rows_of(page):
    """The rows of the page's two tables: name -> row."""
    rows = [line for line in page.splitlines() if re.match(r"\| [a-z0-9-]+ \|", line)]
    return {row.split(" | ")[0].removeprefix("| "): row for row in rows if "| name |" not in row}


def missing_in(page, mutants):
    """What the page does not say of these mutants, or says of others."""
    rows = rows_of(page)
    wrong = [f"{name}: is no mutant" for name in rows.keys() - mutants.keys()]
    for name, mutant in mutants.items():
        row = rows.get(name, "")
        noticed = row.removeprefix(head(mutant)).split(" | ")[0].strip()
        if not row.startswith(head(mutant)):
            wrong.append(f"{name}: not there, or with another change")
        elif noticed == "not tried" or (mutant.expects and noticed != mutant.expects):
            wrong.append(f"{name}: {noticed}, not {mutant.expects}")
        elif mutant.equivalent and mutant.equivalent not in row:
            wrong.append(f"{name}: equivalent for another reason")
    return wrong


def test_the_page_names_every_mutant():
    page = (PACKAGE.parent / "docs" / "mutants.md").read_text(encoding="utf-8")
    assert missing_in(page, MUTANTS) == []
    assert f"\nOf {len(MUTANTS)}: " in page


def test_a_page_that_lags_behind_is_noticed():
    page = (PACKAGE.parent / "docs" / "mutants.md").read_text(encoding="utf-8")
    name, mutant = next(iter(MUTANTS.items()))
    (edit,) = mutant.edits
    changed = replace(mutant, edits=(replace(edit, after=f"{edit.after} + 0"),))
    for others in (
        {**MUTANTS, "new": replace(mutant, name="new")},
        {**MUTANTS, name: changed},
        {other: kept for other, kept in MUTANTS.items() if other != name},
    ):
        assert len(missing_in(page, others)) == 1


def test_text_that_is_gone_is_noticed():
    with pytest.raises(InvalidInput, match="is not there"):
        Edit("kernelref.opt.simplify", "_continues", "no such text", "").apply(
            source_of("kernelref.opt.simplify")
        )
    with pytest.raises(InvalidInput, match="no _gone"):
        Edit("kernelref.opt.simplify", "_gone", "a", "b").apply(source_of("kernelref.opt.simplify"))
    with pytest.raises(InvalidInput, match="no mutant"):
        mutant_named("no-such-mutant")


SOURCE = '''"""Text."""

LIMIT: int = 4


class Things:
    """Docstring with 1 + 1."""

    def first(self, n: int = 2) -> int:
        """More 3 < 4."""
        total = 0
        for i in range(n):
            if i < 3 and i not in (5, 6):
                total += i * 2
        if n == 0:
            raise ValueError(f"{n + 1} is none")
        return total
'''


def test_sites_are_changes_of_code_only():
    found = sites("kernelref.thing", SOURCE)
    changed = {(site.kind, site.edit.after.strip()) for site in found}
    assert ("operator", "if i <= 3 and i not in (5, 6):") in changed
    assert ("operator", "if i < 3 or i not in (5, 6):") in changed
    assert ("operator", "if i < 3 and i in (5, 6):") in changed
    assert ("operator", "total += i + 2") in changed
    assert ("off-by-one", "for i in range(n + 1):") in changed
    assert ("constant", "LIMIT: int = 5") in changed
    assert ("negation", "if not (n == 0):") in changed
    assert ("deletion", "pass") in changed
    assert not any('"""' in site.edit.before or "is none" in site.edit.after for site in found)
    for site in found:
        ended = site.edit.apply(SOURCE).splitlines()
        begin = SOURCE.splitlines()
        differing = [
            i for i, pair in enumerate(zip(begin, ended, strict=False), 1) if len(set(pair)) > 1
        ]
        assert differing
        assert differing[0] == site.line

"""A store keeps whole cases, whatever happens to the process that writes them."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kernelref.errors import InvalidInput
from kernelref.fuzzing.campaign_case import Plan
from kernelref.fuzzing.campaign_check import Ending, Stage
from kernelref.fuzzing.campaign_result import CaseResult, Confirmed
from kernelref.fuzzing.campaign_store import FILE, Store
from kernelref.opt.opt import Opt, OptOps
from kernelref.run.outcome import Outcome

LOCAL = Opt(OptOps.LOCAL, 0, 4)
PASSED = CaseResult(
    0,
    Ending(Stage.OPTIMISED, Outcome.PASS),
    (LOCAL,),
    1,
    640,
    ("ADD float none",),
    ("padding UNKNOWN",),
)
WRONG = CaseResult(
    1,
    Ending(Stage.OPTIMISED, Outcome.WRONG_VALUE, "x"),
    (LOCAL,),
    0,
    64,
    ("ADD float none",),
    case="{}",
)


def test_what_is_recorded_is_read_back(tmp_path):
    with Store(tmp_path, Plan()) as store:
        assert store.record(PASSED) is False
        assert store.record(WRONG) is True
        assert store.record(replace(WRONG, number=2)) is False
    with Store(tmp_path, Plan()) as store:
        assert store.numbers() == {0, 1, 2}
        assert store.outcomes() == {"PASS": 1, "WRONG_VALUE": 2}
        assert store.unproved() == {"padding UNKNOWN": 1}
        assert store.features() == {"ADD float none": 3}
        assert list(store.generation(0, 2)) == [(["ADD float none"], (LOCAL,))] * 2
        assert store.medians() == (64, 1)
        (found,) = store.findings()
        assert (found.key, found.cases, found.first) == (WRONG.key, 2, 1)
        store.minimise(WRONG.key, "smaller")
        assert store.findings()[0].smallest == "smaller"


def test_the_first_case_of_a_finding_is_the_lowest_whatever_comes_first(tmp_path):
    with Store(tmp_path, Plan()) as store:
        store.record(replace(WRONG, number=9, case="late"))
        store.record(replace(WRONG, number=4, case="early"))
        (found,) = store.findings()
        assert (found.first, found.text) == (4, "early")


def test_what_is_said_of_a_finding_is_said_of_its_first_case(tmp_path):
    fresh = replace(WRONG, number=4, confirmed=Confirmed.FRESH)
    with Store(tmp_path, Plan()) as store:
        store.record(replace(WRONG, number=9))
        assert store.findings()[0].confirmed is Confirmed.UNASKED
        store.record(fresh)
        store.record(replace(WRONG, number=7))
        assert store.findings()[0].confirmed is Confirmed.FRESH
        store.record(replace(fresh, number=5, confirmed=Confirmed.HISTORY))
        alone, after = store.findings()
        assert (alone.cases, alone.confirmed) == (3, Confirmed.FRESH)
        assert (after.cases, after.confirmed) == (1, Confirmed.HISTORY)
        assert alone.stage == after.stage == "optimised"


def test_kinds_of_findings_have_files_of_their_own_however_long_they_are(tmp_path):
    key = "BROKE (ValueError: size mismatched can t reshape self shape new shape of it) at open"
    keys = (key, f"{key}, only after other kernels", key.replace("(", "").replace(")", ""))
    with Store(tmp_path, Plan()) as store:
        paths = [store.folder.keep(one, one) for one in keys]
        assert [path.read_text() for path in paths] == list(keys)
        assert store.folder.keep("TRAP at plain: LOCAL", "").name == "trap-at-plain-local.json"


def test_a_campaign_of_another_schema_is_refused_as_one(tmp_path):
    with Store(tmp_path, Plan()):
        pass
    with closing(sqlite3.connect(tmp_path / FILE)) as other:
        other.execute("update plan set schema = 3")
        other.commit()
    with pytest.raises(InvalidInput, match="in schema 3, and this is schema 4"):
        Store(tmp_path, Plan())


def test_a_case_is_recorded_once(tmp_path):
    with Store(tmp_path, Plan()) as store:
        store.record(PASSED)
        with pytest.raises(sqlite3.IntegrityError):
            store.record(PASSED)
        assert store.features() == {"ADD float none": 1}


def test_another_campaign_is_refused(tmp_path):
    with Store(tmp_path, Plan(seed=1)):
        pass
    with pytest.raises(InvalidInput, match="another seed"), Store(tmp_path, Plan(seed=2)):
        pass


def test_known_sequences_stay_those_of_the_first_day(tmp_path):
    with Store(tmp_path, Plan(known=((LOCAL,),))):
        pass
    with Store(tmp_path, Plan()) as store:
        assert store.plan.known == ((LOCAL,),)


def test_a_file_that_is_no_store_is_refused(tmp_path):
    (tmp_path / FILE).write_text("hello" * 1000)
    with pytest.raises(InvalidInput, match="no campaign"), Store(tmp_path, Plan()):
        pass


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ("create table mail (a)", "another program's tables"),
        ("create table plan (a)", "no such column"),
        ("create table plan (schema, plan, known)", "names no plan"),
    ],
)
def test_another_programs_file_is_refused_and_left_as_it_was(tmp_path, tables, said):
    with closing(sqlite3.connect(tmp_path / FILE)) as other:
        other.execute(tables)
        other.commit()
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(InvalidInput, match=said), Store(tmp_path, Plan()):
        pass
    assert (tmp_path / FILE).read_bytes() == before


def test_tables_of_a_campaign_that_are_missing_or_damaged_are_named(tmp_path):
    with Store(tmp_path, Plan()):
        pass
    for change, said in (
        ("update plan set known = '[3]'", "damaged"),
        ("drop table cases", "lacks the table cases"),
    ):
        with closing(sqlite3.connect(tmp_path / FILE)) as other:
            other.execute(change)
            other.commit()
        with pytest.raises(InvalidInput, match=said), Store(tmp_path, Plan()):
            pass


def test_one_campaign_at_a_time(tmp_path):
    running = pytest.raises(InvalidInput, match="another campaign is running here")
    with Store(tmp_path, Plan()), running:
        Store(tmp_path, Plan())
    with Store(tmp_path, Plan()):
        pass


def test_a_path_that_can_be_no_folder_is_refused(tmp_path):
    file = tmp_path / "file"
    file.touch()
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "findings").touch()
    for path in (file, file / "below", Path("/proc/foo"), tmp_path / "kept"):
        with pytest.raises(InvalidInput, match=str(path)):
            Store(path, Plan())


WRITER = """
import sys
from pathlib import Path
from dataclasses import replace
from kernelref.fuzzing.campaign_store import Store
from kernelref.fuzzing.campaign_case import Plan
from tests.fuzzing.test_campaign_store import PASSED
with Store(Path(sys.argv[1]), Plan()) as store:
    first = max(store.numbers(), default=-1) + 1
    for number in range(first, first + 100000):
        store.record(replace(PASSED, number=number))
"""


@pytest.mark.parametrize("delay", [0.05, 0.2, 0.4])
def test_a_kill_at_any_moment_loses_nothing(tmp_path, delay):
    for _ in range(2):
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)])
        deadline = time.monotonic() + 60
        while not (tmp_path / FILE).exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(delay)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    with Store(tmp_path, Plan()) as store:
        numbers = store.numbers()
        assert numbers == set(range(len(numbers)))
        assert sum(store.outcomes().values()) == len(numbers)
        assert store.features().get("ADD float none", 0) == len(numbers)

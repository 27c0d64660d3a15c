"""The same campaign on a Dask cluster: same cases, also when a worker is killed on the way."""

from __future__ import annotations

import os
import signal
import time

import pytest

from kernelref.errors import InvalidInput
from kernelref.fuzzing.campaign import Campaign, Pace
from kernelref.fuzzing.campaign_case import Plan
from kernelref.fuzzing.campaign_store import Store
from kernelref.jobs.fuzz import FuzzRequest, fuzz
from kernelref.jobs.fuzz_work import DaskExecutor
from tests.fuzzing.test_campaign import campaign, work

distributed = pytest.importorskip(
    "distributed", reason="Dask is not installed: pip install 'kernelref[distributed]'"
)

pytestmark = pytest.mark.filterwarnings("ignore")


def slow_work(plan, chunk):
    time.sleep(0.05)
    return work(plan, chunk)


@pytest.fixture
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as made:
        yield made


def test_a_killed_worker_loses_nothing(tmp_path, cluster):
    processes = [worker.process for worker in cluster.workers.values()]
    count, ended = 200, []

    def watch(result) -> None:
        """Kill one of the two while both have work."""
        ended.append(result.number)
        if len(ended) == count // 4:
            os.kill(processes[0].pid, signal.SIGKILL)

    with Store(tmp_path / "dask", Plan()) as store:
        address = cluster.scheduler_address
        pace = Pace(jobs=2, cases=count, chunk=4)
        Campaign(Plan(), store, slow_work, lambda: DaskExecutor(address), pace, watch).run()
        assert store.outcomes() == {"PASS": count}
    assert sorted(ended) == list(range(count))
    assert campaign(tmp_path / "dask", pace=Pace(cases=count)) == campaign(
        tmp_path / "alone", pace=Pace(cases=count)
    )


def test_a_cluster_makes_the_cases_of_this_machine(cluster):
    alone = fuzz(FuzzRequest(cases=6, jobs=1))
    spread = fuzz(FuzzRequest(cases=6, scheduler=cluster.scheduler_address))
    for key in ("cases", "outcomes", "opts_applied", "opts_refused", "features", "feature_pairs"):
        assert spread[key] == alone[key], key


def test_nobody_at_the_address_is_bad_input(monkeypatch):
    monkeypatch.setattr("kernelref.jobs.fuzz_work.CONNECT_SECONDS", 1)
    with pytest.raises(InvalidInput, match=r"tcp://127\.0\.0\.1:1"):
        DaskExecutor("tcp://127.0.0.1:1")


def test_without_dask_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(InvalidInput, match="kernelref\\[distributed\\]"):
        DaskExecutor("tcp://127.0.0.1:1")

"""The same campaign on a Dask cluster: same cases, also when a worker is killed on the way."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from kernelref.errors import InvalidInput
from kernelref.fuzzing.campaign import Campaign, Pace
from kernelref.fuzzing.campaign_case import Plan
from kernelref.fuzzing.campaign_store import Store
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
    pids = [worker.pid for worker in cluster.workers.values()]
    count = 300

    def kill() -> None:
        time.sleep(0.5)
        os.kill(pids[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with Store(tmp_path / "dask", Plan()) as store:
        address = cluster.scheduler_address
        pace = Pace(jobs=2, cases=count, chunk=4)
        Campaign(Plan(), store, slow_work, lambda: DaskExecutor(address), pace).run()
        outcomes = store.outcomes()
        assert store.numbers() == set(range(count))
    killer.join()
    assert outcomes == {"PASS": count}
    assert campaign(tmp_path / "dask", pace=Pace(cases=count)) == campaign(
        tmp_path / "alone", pace=Pace(cases=count)
    )


def test_nobody_at_the_address_is_bad_input(monkeypatch):
    monkeypatch.setattr("kernelref.jobs.fuzz_work.CONNECT_SECONDS", 1)
    with pytest.raises(InvalidInput, match=r"tcp://127\.0\.0\.1:1"):
        DaskExecutor("tcp://127.0.0.1:1")


def test_without_dask_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(InvalidInput, match="kernelref\\[distributed\\]"):
        DaskExecutor("tcp://127.0.0.1:1")

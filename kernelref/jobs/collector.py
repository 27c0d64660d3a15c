"""How often Python looks for garbage in cycles.

Nodes, terms and views refer downwards only, so nearly everything is freed by its reference count,
and what the collector walks again and again are caches. Left as it is, it takes a quarter of the
time of a fuzz case.
"""

from __future__ import annotations

import gc

from kernelref.jobs.orphan import begin_worker

YOUNG = 10_000
"""Objects made before the young ones are looked at; Python's own number is 700."""
OFTEN = 20
SELDOM = 100


def collect_rarely() -> None:
    """Look seldom. For processes of ours, not for a program that imports kernelref."""
    gc.set_threshold(YOUNG, OFTEN, SELDOM)


def begin_busy_worker() -> None:
    """Called first in a worker process that computes in Python."""
    begin_worker()
    collect_rarely()

"""How often Python looks for garbage in cycles.

Nodes, terms and views refer downwards only, so nearly everything is freed by its reference count,
and what the collector walks again and again are caches. Left as it is, it takes a quarter of the
time of a fuzz case.
"""

from __future__ import annotations

import gc

YOUNG = 10_000
"""Objects made before the young ones are looked at; Python's own number is 700."""
OFTEN = 20
SELDOM = 100


def collect_rarely() -> None:
    """Look seldom. For processes of ours, not for a program that imports kernelref."""
    gc.set_threshold(YOUNG, OFTEN, SELDOM)

"""What `doctor` tells a person."""

from __future__ import annotations

from kernelref.jobs.doctor import Health, Item
from kernelref.report.text import columns


def summary(health: Health) -> str:
    """One section each for devices, solvers and releases, then what will be skipped."""
    lines = [f"kernelref {health.kernelref}, Python {health.python}"]
    for title, items in (
        ("devices", health.devices),
        ("solvers", health.solvers),
        ("releases", health.releases),
    ):
        lines += [f"{title}:", *columns(_row(item) for item in items)]
    if health.skipped:
        lines += ["skipped here:", *(f"  {sentence}" for sentence in health.skipped)]
    return "\n".join(lines)


def _row(item: Item) -> tuple[str, str, str]:
    return "yes" if item.is_here else "no", item.name, item.detail

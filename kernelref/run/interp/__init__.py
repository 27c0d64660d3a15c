"""The interpreter: what a Program means, with every rule of the machine checked.

Read `interpret`, then `machine` (what statements do), `indexing`, `memory`, `batching`.
"""

from kernelref.run.interp.device import launch_program
from kernelref.run.interp.fault import Fault
from kernelref.run.interp.interpret import Interpretation, interpret

__all__ = ["Fault", "Interpretation", "interpret", "launch_program"]

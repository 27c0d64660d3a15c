"""The four rule sets: `sound`, and one per tinygrad release.

Source: tinygrad 0.8.0, 0.9.0 and 0.9.1 codegen/kernel.py.
"""

from __future__ import annotations

from kernelref.ir.view import ViewAlgebra
from kernelref.opt.rules.ruleset import BufferIdentity, Construction, RuleSet

SOUND = RuleSet(
    "sound", ViewAlgebra.SOUND, Construction(BufferIdentity.NODES, each_reduce_its_axes=True)
)
TINYGRAD_0_8_0 = RuleSet(
    "tinygrad-0.8.0",
    ViewAlgebra.TINYGRAD_0_8_0,
    Construction(BufferIdentity.ALL_ARGUMENTS, max_outputs=1, max_reduces=1),
    counted_types=True,
)
TINYGRAD_0_9_0 = RuleSet(
    "tinygrad-0.9.0",
    ViewAlgebra.TINYGRAD_0_9_0,
    Construction(BufferIdentity.ARGUMENTS, max_reduces=1),
    counted_types=True,
)
TINYGRAD_0_9_1 = RuleSet(
    "tinygrad-0.9.1",
    ViewAlgebra.TINYGRAD_0_9_1,
    Construction(BufferIdentity.ARGUMENTS, reduces_land_on_output=True),
    counted_types=True,
)

RULE_SETS: dict[str, RuleSet] = {
    rules.name: rules for rules in (SOUND, TINYGRAD_0_8_0, TINYGRAD_0_9_0, TINYGRAD_0_9_1)
}

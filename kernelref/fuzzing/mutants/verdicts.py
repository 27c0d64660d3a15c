"""What is known of mutants that nothing notices, or no test of fuzz/: why."""

from __future__ import annotations

EQUIVALENT: dict[str, str] = {
    "simplify-image-strides-constant": (
        "axes of extent 1 lie among the reduced ones, where strides 1 and 1 merge as 0 and 0 do"
    ),
    "view-reshape-joins-next-constant": (
        "for views of 0.8.0 and 0.9.0 alone, and no split or merge of a kernel joins a masked axis "
        "with the next: tests of views show it"
    ),
    "table-constant": "amounts worth trying say what is drawn, not what is right",
    "view-merge-invert-view-constant": "no kernel inverts a view: tests of views show it",
    "tensor-fit-all-negation": "the operands of a tensor core are read by nothing yet",
    "conditions-product-operator": "asks whether an image has more than one element: it has four",
    "kernel-vector-axes-operator": "`vector_axes` is asked by nothing on the way of a kernel",
    "view-merge-merge-views-constant": "a View writes every empty mask as (0, 0)",
}

UNSEEN: dict[str, str] = {
    "padding-partly-known-operator": (
        "no generated sum adds up padded products of which one factor alone is known"
    ),
    "padding-is-exact-negation": (
        "what it accepts comes out right here: devices may round it otherwise, the interpreter not"
    ),
}
"""Why the tests of fuzz/ do not notice what the suite notices."""

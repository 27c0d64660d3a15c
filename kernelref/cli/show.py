"""`kernelref show`: everything about one kernel that a person can look at."""

from __future__ import annotations

from kernelref.cli import options
from kernelref.cli.exits import Exit


def show(
    case: options.Case,
    opts: options.Opts = "own",
    rules: options.Rules = None,
    limits: options.LimitsName = None,
    json: options.Json = False,
) -> Exit:
    """Print a kernel's AST, its axes after each opt, its buffers' index maps and its text.

    Ends in 5 where kernelref has no text for it, in 1 where the rules' release falls over on it.
    """
    from rich.console import Console

    from kernelref.cli.output import print_json
    from kernelref.errors import Unsupported
    from kernelref.jobs.show import look_at
    from kernelref.report.kernel import picture

    view = look_at(case, opts=opts, rules=rules, limits=limits)
    if json:
        print_json(view.as_json())
    else:
        Console(soft_wrap=True, highlight=False).print(picture(view))
    if isinstance(view.fault, Unsupported):
        return Exit.NOTHING_DONE
    return Exit.CLEAN if view.fault is None else Exit.FINDING

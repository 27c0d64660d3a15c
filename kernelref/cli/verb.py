"""How a verb ends: errors become one line on stderr and the exit code that DESIGN fixes.

A verb is a function that returns an `Exit`. Wrong flags are caught earlier, by typer, with exit 2.
"""

from __future__ import annotations

import errno
import functools
import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import ParamSpec

import typer

from kernelref.cli.exits import Exit
from kernelref.errors import InvalidInput, KernelRefError, Unsupported

Parameters = ParamSpec("Parameters")


def verb(function: Callable[Parameters, Exit]) -> Callable[Parameters, None]:
    """The typer command for a function that returns how it ended."""

    @functools.wraps(function)
    def command(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        raise typer.Exit(_ended(lambda: function(*args, **kwargs)))

    # typer reads the return type from here; without this it would see Exit.
    command.__annotations__ = {**function.__annotations__, "return": None}
    return command


def _ended(run: Callable[[], Exit]) -> Exit:
    """Run it; say on stderr what stopped it."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        code = run()
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return _stopped("interrupted", Exit.INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has seen enough. What is still buffered has nowhere to go.
        drop_output()
        return Exit.CLEAN
    except InvalidInput as error:
        return _stopped(str(error), Exit.BAD_INPUT)
    except Unsupported as error:
        return _stopped(str(error), Exit.NOTHING_DONE)
    except KernelRefError as error:
        return _stopped(str(error), Exit.HARNESS)
    except Exception as error:
        if isinstance(error, OSError) and is_full(error):
            return stopped_by_full_output(error)
        # Python itself would end in 1, which says that a kernel is wrong. Who mends this needs the
        # traceback; what a script reads is the exit code.
        traceback.print_exc()
        return _stopped(f"a fault of kernelref itself: {type(error).__name__}", Exit.HARNESS)
    return code


def is_full(error: OSError) -> bool:
    """Whether what we print, or keep on disk, has no room left: nothing of ours to trace."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def stopped_by_full_output(error: OSError) -> Exit:
    """Say so on stderr; what is still buffered is dropped."""
    if sys.stdout is not None:
        drop_output()
    return _stopped(f"what there is to say cannot be written: {error.strerror}", Exit.HARNESS)


def drop_output() -> None:
    """Send what is still buffered nowhere: Python would fail on it once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _interrupt(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _stopped(message: str, code: Exit) -> Exit:
    print(f"kernelref: {message}", file=sys.stderr)
    return code

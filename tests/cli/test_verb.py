from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer

from kernelref.cli.exits import Exit
from kernelref.cli.verb import verb
from kernelref.errors import DeviceError, InvalidInput, Unsupported

# A shell that starts its jobs in the background has them ignore SIGINT; these must not.
SCRIPT = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
import typer
from kernelref.cli.exits import Exit
from kernelref.cli.verb import verb

def work() -> Exit:
    print("started", flush=True)
    {body}
    return Exit.CLEAN

typer.run(verb(work))
"""


def code_of(function):
    with pytest.raises(typer.Exit) as ended:
        verb(function)()
    return ended.value.exit_code


def raising(error):
    def work() -> Exit:
        raise error

    return work


@pytest.mark.parametrize("code", list(Exit))
def test_a_verb_ends_as_it_says(code):
    assert code_of(lambda: code) == code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidInput("no such op", where="f:3: field op"), Exit.BAD_INPUT),
        (DeviceError("driver is gone"), Exit.HARNESS),
        (Unsupported("images"), Exit.NOTHING_DONE),
        (KeyboardInterrupt(), Exit.INTERRUPTED),
    ],
)
def test_errors_have_codes(error, code):
    assert code_of(raising(error)) == code


def test_bad_input_names_its_place_on_stderr(capsys):
    code_of(raising(InvalidInput("no such op", where="f:3: field op")))
    captured = capsys.readouterr()
    assert captured.err == "kernelref: f:3: field op: no such op\n"
    assert captured.out == ""


def test_a_fault_of_ours_is_no_finding_and_is_not_swallowed(capsys):
    assert code_of(raising(ZeroDivisionError())) == Exit.HARNESS
    said = capsys.readouterr().err
    assert "Traceback" in said
    assert said.endswith("kernelref: a fault of kernelref itself: ZeroDivisionError\n")


def start(body):
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(body=body)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("signal_name", ["SIGINT", "SIGTERM"])
def test_a_signal_interrupts(signal_name):
    import signal

    with start("time.sleep(60)") as process:
        assert process.stdout.readline() == "started\n"
        time.sleep(0.1)
        process.send_signal(getattr(signal, signal_name))
        _, err = process.communicate(timeout=60)
    assert process.returncode == Exit.INTERRUPTED
    assert err == "kernelref: interrupted\n"


def test_a_reader_that_left_is_no_error():
    with start("time.sleep(0.5)\n    for _ in range(100000): print('x' * 80)") as process:
        assert process.stdout.readline() == "started\n"
        process.stdout.close()
        err = process.stderr.read()
        process.wait(timeout=60)
    assert err == ""
    assert process.returncode == Exit.CLEAN


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize(
    "arguments",
    [
        ("--version",),
        ("--help",),
        ("show", "corpus/seeds/softmax-sum.json"),
        ("show", "corpus/seeds/softmax-sum.json", "--json"),
        ("bench", "read", "--sample", "1"),
    ],
)
def test_an_output_that_is_full_is_said_without_a_traceback(arguments):
    entered = "from kernelref.cli import entry; entry()"
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-c", entered, *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert ended.returncode == Exit.HARNESS
    assert "No space left" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr

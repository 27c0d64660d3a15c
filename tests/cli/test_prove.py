"""`kernelref prove` from the command line: its exit codes, and what it prints."""

from __future__ import annotations

import json

import pytest

from tests.cli.command import command, documented

KEYS = (
    "kernels", "obligations", "proved", "refuted", "unknown", "unsupported", "median_ms",
    "index_median_ms", "p99_ms", "engines",
)  # fmt: skip
GROUPED = "corpus/seeds/sum-of-squared-sums.json"


def test_what_is_proved_is_clean() -> None:
    done = command("prove", "corpus/seeds/matmul.json", "--opts", "hand-coded", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["verb"] == "prove"
    assert all(key in found for key in KEYS)
    assert found.keys() == documented("prove")
    assert found["proved"] == found["obligations"] == 15


def test_a_refutation_is_a_finding() -> None:
    done = command("prove", "corpus/known/padded-sum-of-not.json")
    assert done.code == 1
    assert "REFUTED" in done.out
    assert "PADTO(1, 32)" in done.out


@pytest.mark.parametrize(("flags", "code"), [((), 4), (("--allow-unknown",), 0)])
def test_what_is_left_open_is_not_clean(flags, code) -> None:
    engines = ("--engines", "syntactic")
    done = command("prove", "corpus/seeds/matmul.json", "--opts", "hand-coded", *engines, *flags)
    assert done.code == code
    assert "UNKNOWN" in done.out


def test_bad_input_is_named() -> None:
    assert command("prove").code == 2
    assert "known are" in command("prove", "corpus", "--engines", "z4").err
    assert command("prove", "corpus/seeds/matmul.json", "--rules", "none").code == 2
    assert command("prove", "no-such-file").code == 2


def test_a_certificate_goes_out_and_comes_back(tmp_path) -> None:
    path = str(tmp_path / "certificate.json")
    done = command("prove", GROUPED, "--opts", "hand-coded", "--certificate", path)
    assert done.code == 0, done.out + done.err
    checked = command("prove", "--check", path, "--json")
    assert checked.code == 0, checked.out + checked.err
    assert json.loads(checked.out)["proved"] == 15
    document = json.loads((tmp_path / "certificate.json").read_text())
    document["final"][0][0]["offset"] = 1
    (tmp_path / "certificate.json").write_text(json.dumps(document))
    assert command("prove", "--check", path).code == 1
    (tmp_path / "certificate.json").write_text("{}")
    assert command("prove", "--check", path).code == 2

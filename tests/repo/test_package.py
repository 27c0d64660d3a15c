"""What is installed: the wheel holds the package with its corpus; the lock pins all with hashes."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
import tomllib
import zipfile

from tests.repo.packages import ROOT

LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
# Extras that no test needs, so that `make test` does not install them.
UNLOCKED = ("crosscheck",)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_wheel_ships_the_corpus(tmp_path):
    subprocess.run(
        [
            sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps",
            "--no-build-isolation", "--wheel-dir", str(tmp_path), str(ROOT),
        ],
        check=True,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    cases = {path.relative_to(ROOT).as_posix() for path in (ROOT / "corpus").rglob("*.json")}
    assert cases
    assert {f"kernelref/{case}" for case in cases} <= names
    assert {"kernelref/py.typed", "kernelref/cli/app.py"} <= names
    assert not [name for name in names if name.startswith(("tests/", "fuzz/"))]


def locked() -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+) \\$", LOCK, re.MULTILINE))


def test_every_requirement_is_locked_with_a_hash():
    extras = PROJECT["optional-dependencies"]
    locked_extras = [wanted for name, wanted in extras.items() if name not in UNLOCKED]
    wanted = [*PROJECT["dependencies"], *itertools.chain.from_iterable(locked_extras)]
    names = {re.match(r"[A-Za-z0-9-]+", requirement)[0].lower() for requirement in wanted}
    assert names <= locked().keys()
    for block in re.split(r"^(?=[a-z0-9-]+==)", LOCK, flags=re.MULTILINE)[1:]:
        assert "--hash=sha256:" in block, block.splitlines()[0]


def test_what_is_not_locked_is_pinned_where_it_is_named():
    for extra in UNLOCKED:
        for requirement in PROJECT["optional-dependencies"][extra]:
            assert re.fullmatch(r"[a-z0-9-]+==[0-9.]+", requirement), requirement


def test_the_lock_belongs_to_no_machine():
    assert "://" not in LOCK
    assert not re.search(r"^--|^\s*-[ief] | @ ", LOCK, re.MULTILINE)

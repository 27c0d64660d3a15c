"""Kernel sources: what each spec names, sampling, and bad items beside good ones."""

from __future__ import annotations

import gzip

import pytest

from kernelref.cases import sources
from kernelref.cases.case import Case, write_case
from kernelref.cases.sources import (
    KernelSource,
    Place,
    Unreadable,
    in_order,
    kernels,
    list_kernels,
    read_kernels,
    sample,
)
from kernelref.errors import InvalidInput, Unsupported
from kernelref.ir.builder import buffer, kernel
from kernelref.ir.tinygrad_repr import Dialect
from kernelref.opt.opt import Opt, OptOps
from tests.ir.test_tinygrad_repr import load, store
from tests.shared_bugs import KERNEL_FILES, kernel_file

CASE = Case(kernel(buffer(1, (4, 6)).sum(1)), title="rows", opts=(Opt(OptOps.UPCAST, 0, 2),))
GOOD = store(load())
LOGGED = f"(({store(load())},), [Opt(op=OptOps.UNROLL, axis=0, amt=4)])"


@pytest.fixture
def folder(tmp_path):
    """Two dumps, a case and a page that is none."""
    (tmp_path / "a.txt").write_text(f"{GOOD}\n\nnonsense\n{LOGGED}\n")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(f"({GOOD},)\n".encode() * 3))
    (tmp_path / "deep").mkdir()
    write_case(CASE, tmp_path / "deep" / "rows.json")
    (tmp_path / "README.md").write_text("not a kernel")
    return tmp_path


def test_a_folder_names_every_kernel_in_it(folder) -> None:
    names = [place.name for place in list_kernels([str(folder)])]
    assert names == ["a.txt:1", "a.txt:3", "a.txt:4", "b.txt.gz:1", "b.txt.gz:2", "b.txt.gz:3",
                     "rows.json"]  # fmt: skip


def test_every_form_reads(folder) -> None:
    first, bad, logged, packed, _, _, case = kernels([str(folder)])
    assert isinstance(first, KernelSource)
    assert (first.name, first.opts, first.dialect) == ("a.txt:1", None, Dialect.V0_8_0)
    assert isinstance(bad, Unreadable)
    assert bad.error.where == f"{folder}/a.txt:3:1"
    assert logged.opts == (Opt(OptOps.UNROLL, 0, 4),)
    assert packed.dialect is Dialect.V0_9_1
    assert case.case == CASE
    assert (case.ast, case.opts, case.dialect) == (CASE.ast, CASE.opts, Dialect.V0_9_1)


def test_a_place_can_be_named_again(folder) -> None:
    for source in kernels([str(folder)]):
        (again,) = kernels([str(source.place)])
        assert again.place == source.place


def test_places_are_read_in_the_order_given(folder) -> None:
    lines = (4, 1, 1, 4)
    read = list(read_kernels(Place(folder / "a.txt", line) for line in lines))
    assert all(isinstance(source, KernelSource) for source in read)
    assert [source.place.line for source in read] == list(lines)


def test_one_bad_line_loses_nothing(folder) -> None:
    read = list(kernels([str(folder)]))
    assert len(read) == 7
    assert sum(isinstance(source, Unreadable) for source in read) == 1


def test_messages_have_the_order_of_their_lines() -> None:
    ordered = ["a.txt:2:1: x", "a.txt:10:1: 7", f"a.txt:10:1: {'9' * 5000}", "b.txt: x"]
    assert in_order(reversed(ordered)) == ordered


def test_a_place_that_is_named_twice_is_one(folder) -> None:
    once = list_kernels([str(folder)])
    again = f"{folder}/../{folder.name}"
    assert list_kernels([str(folder), again, str(once[0])]) == once


@pytest.mark.parametrize("text", ["vector", "no text"])
def test_bad_items_of_every_kind(tmp_path, text) -> None:
    path = tmp_path / "dump.txt"
    data = GOOD.replace("dtypes.float", "dtypes._half4") if text == "vector" else "\xff"
    path.write_bytes(data.encode("latin-1"))
    (item,) = kernels([str(path)])
    assert isinstance(item, Unreadable)
    assert isinstance(item.error, Unsupported if text == "vector" else InvalidInput)


def test_bad_case_files_are_items(tmp_path) -> None:
    (tmp_path / "a.json").write_text("{")
    write_case(CASE, tmp_path / "b.json")
    bad, good = kernels([str(tmp_path)])
    assert isinstance(bad, Unreadable)
    assert bad.error.where == f"{tmp_path}/a.json:1:2"
    assert isinstance(good, KernelSource)


@pytest.mark.parametrize(
    "spec", ["none.txt", "a.txt:2", "a.txt:99", "a.txt:x", "a.txt:", ":1", "deep:1"]
)
def test_what_names_nothing_is_refused(folder, spec: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        list_kernels([f"{folder}/{spec}"])
    assert caught.value.where == f"{folder}/{spec}"


def test_an_empty_folder_is_refused(tmp_path) -> None:
    with pytest.raises(InvalidInput, match="no kernel in it"):
        list_kernels([str(tmp_path)])


def test_a_file_that_shrank_is_an_item(folder) -> None:
    places = [Place(folder / "a.txt", 1), Place(folder / "a.txt", 50)]
    first, gone = read_kernels(places)
    assert isinstance(first, KernelSource)
    assert isinstance(gone, Unreadable)
    assert "no such line" in str(gone.error)


def test_a_case_of_a_release_has_its_dialect(tmp_path) -> None:
    from dataclasses import replace

    write_case(replace(CASE, rules="tinygrad-0.8.0"), tmp_path / "old.json")
    (source,) = kernels([str(tmp_path)])
    assert source.dialect is Dialect.V0_8_0


def test_the_corpus_is_a_source() -> None:
    places = list_kernels(["corpus"])
    assert len(places) >= 60
    assert all(isinstance(source, KernelSource) for source in kernels(["corpus"], 20, 1))


def test_samples_are_in_order_and_repeatable() -> None:
    places = [Place(sources.Path("x"), line) for line in range(1, 101)]
    chosen = sample(places, 10, 1)
    assert chosen == sample(places, 10, 1)
    assert chosen != sample(places, 10, 2)
    assert len(set(chosen)) == 10
    assert chosen == sorted(chosen, key=lambda place: place.line)
    assert sample(places, None) == sample(places, 100) == sample(places, 500) == places
    assert sample(places, 0) == []


def test_what_is_not_in_the_sample_is_not_parsed(tmp_path, monkeypatch) -> None:
    path = tmp_path / "dump.txt"
    path.write_text(f"{GOOD}\n" * 50)
    parsed = []
    read = sources.Reader.read

    def noted(reader, text, line):
        parsed.append(line)
        return read(reader, text, line)

    monkeypatch.setattr(sources.Reader, "read", noted)
    assert len(list(kernels([str(path)], 5, 3))) == 5
    assert len(parsed) == 5


@pytest.mark.parametrize("name", KERNEL_FILES)
def test_real_dumps(name: str) -> None:
    count = {"tinygrad-0.8.0.txt.gz": 9879, "tinygrad-0.9.1.txt.gz": 8036}[name]
    places = list_kernels([str(kernel_file(name))])
    assert len(places) == count
    dialects = {source.dialect.value for source in read_kernels(sample(places, 40, 1))}
    assert dialects == {name.removesuffix(".txt.gz")}

"""The corpus: found beside the package or inside it, without duplicates."""

from __future__ import annotations

from dataclasses import replace

import pytest

import kernelref
from kernelref.cases.case import Case, read_case
from kernelref.cases.corpus import KINDS, add_case, corpus_files, corpus_root, slug
from kernelref.errors import InvalidInput
from kernelref.ir.builder import buffer, kernel
from kernelref.opt.opt import Opt, OptOps

CASE = Case(kernel(buffer(1, (4, 6)).sum(1)), title="Sum of rows: 4x6!")


def test_every_stored_case_reads() -> None:
    for path in corpus_files():
        case = read_case(path)
        assert case.title, path
        assert case.origin, path


def test_kinds() -> None:
    assert {path.parent.name for path in corpus_files()} <= set(KINDS)
    assert all(path.parent.name == "seeds" for path in corpus_files("seeds"))


def test_the_corpus_of_an_installed_package_comes_first(tmp_path, monkeypatch) -> None:
    (tmp_path / "site" / "kernelref" / "corpus" / "seeds").mkdir(parents=True)
    (tmp_path / "site" / "corpus" / "seeds").mkdir(parents=True)
    monkeypatch.setattr(kernelref, "__file__", str(tmp_path / "site" / "kernelref" / "__init__.py"))
    assert corpus_root() == tmp_path / "site" / "kernelref" / "corpus"
    (tmp_path / "site" / "kernelref" / "corpus" / "seeds").rmdir()
    assert corpus_root() == tmp_path / "site" / "corpus"
    (tmp_path / "site" / "corpus" / "seeds").rmdir()
    with pytest.raises(InvalidInput, match="no corpus"):
        corpus_root()


def test_adding(tmp_path) -> None:
    path = add_case(CASE, "regress", root=tmp_path)
    assert path == tmp_path / "regress" / "sum-of-rows-4x6.json"
    assert read_case(path) == CASE
    assert list(corpus_files(root=tmp_path)) == [path]


def test_what_cannot_be_added(tmp_path) -> None:
    add_case(CASE, "regress", root=tmp_path)
    with pytest.raises(InvalidInput, match="has this kernel"):
        add_case(replace(CASE, title="another title"), "known", root=tmp_path)
    other = replace(CASE, opts=(Opt(OptOps.UPCAST, 0, 2),))
    with pytest.raises(InvalidInput, match="name is taken"):
        add_case(other, "regress", root=tmp_path)
    with pytest.raises(InvalidInput, match="unknown kind"):
        add_case(other, "garden", root=tmp_path)
    assert add_case(other, "regress", "other name", root=tmp_path).name == "other-name.json"


@pytest.mark.parametrize(
    ("title", "name"),
    [("", "case"), ("../../etc/passwd", "etc-passwd"), ("Ümlaut", "mlaut"), ("x" * 200, "x" * 80)],
)
def test_names(title: str, name: str) -> None:
    assert slug(title) == name

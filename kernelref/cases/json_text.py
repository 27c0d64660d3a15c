"""JSON of files that may be hostile: bounded, without loopholes, every fault with its place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from kernelref.errors import InvalidInput

Json: TypeAlias = Any
MAX_BYTES = 16 << 20


def read_text(path: Path, limit: int = MAX_BYTES) -> str:
    """The text of a file of at most `limit` bytes.

    Raises: InvalidInput naming the file.
    """
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise InvalidInput(f"larger than {limit} bytes", where=str(path))
        return data.decode("utf-8")
    except OSError as error:
        raise InvalidInput(error.strerror or "cannot be read", where=str(path)) from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"byte {error.start} is no UTF-8", where=str(path)) from None


@contextmanager
def faults_in(name: str) -> Iterator[None]:
    """Whatever is wrong with the text of file `name` is an InvalidInput that names the file."""
    try:
        yield
    except json.JSONDecodeError as error:
        raise InvalidInput(error.msg, where=f"{name}:{error.lineno}:{error.colno}") from None
    except RecursionError:
        raise InvalidInput("nests too deep", where=name) from None
    except InvalidInput as error:
        where = f"{name}: {error.where}" if error.where else name
        raise InvalidInput(error.message, where=where) from None


def parse_json(text: str) -> Json:
    """JSON without its loopholes: no key twice, no number that is not one.

    Raises: InvalidInput, JSONDecodeError, RecursionError; `faults_in` makes one of them.
    """

    def unique(pairs: list[tuple[str, Json]]) -> Json:
        document = dict(pairs)
        if len(document) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise InvalidInput(f"key {twice[:40]!r} stands twice")
        return document

    def refused(word: str) -> Json:
        raise InvalidInput(f"{word} is no JSON number")

    def finite(word: str) -> float:
        value = float(word)
        return value if value - value == 0 else refused(word)

    def short(word: str) -> int:
        return int(word) if len(word) <= 40 else refused(word[:20] + "...")

    return json.loads(
        text, object_pairs_hook=unique, parse_constant=refused, parse_float=finite, parse_int=short
    )

"""The words of the text: names, numbers, quoted names and punctuation, each with its place."""

from __future__ import annotations

import math
import re

from kernelref.errors import InvalidInput

TOKEN = re.compile(
    r"""[ \t]*(?:
      (?P<number>-?(?:inf\b|[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?))
    | (?P<name>[A-Za-z_][A-Za-z0-9_.]*)
    | (?P<text>'[A-Za-z_][A-Za-z0-9_]{0,63}')
    | (?P<mark>//|[()\[\],=+*%<])
    )""",
    re.VERBOSE,
)

_VIEW = r"View\(shape=[^=]*, strides=[^=]*, offset=[^=]*, mask=[^=]*, contiguous=(?:True|False)\)"
_LEAF = (
    r"LazyOp\(op=BufferOps\.(?:LOAD|CONST), src=\(\), arg=(?:MemBuffer|ConstBuffer)\([a-z]+=[^=]*, "
    rf"dtype=[^=]*, st=ShapeTracker\(views=\({_VIEW}(?:, {_VIEW})*,?\)\)\)\)"
)

# What may be looked up whole by its spelling. Each alternative has one way to match, because a run
# without "=" ends at the next "=": the time is linear in the text, whatever the text is. A spelling
# enters the memory only after it was read word by word, so a loose pattern cannot let anything in.
REPEATED = {"View": re.compile(_VIEW), "LazyOp": re.compile(_LEAF)}

_MAX_DIGITS = 40


def number(word: str) -> int | float:
    """The value of a number's spelling.

    Raises: InvalidInput when no extent or constant has that many digits.
    """
    if len(word) > _MAX_DIGITS:
        raise InvalidInput(f"a number of {len(word)} characters")
    if word.isdigit() or word[1:].isdigit():
        return int(word)
    value = float(word)
    if math.isinf(value) and not word.endswith("inf"):
        raise InvalidInput(f"{word} is no double; an infinity is spelled inf")
    return value

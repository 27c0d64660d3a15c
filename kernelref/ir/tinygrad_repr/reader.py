"""The reading machine: one pass over the words of a line, with a stack of its own.

Each open bracket is a `_Frame`; closing it makes a value (a tuple, a list, an index expression or
what a constructor builds) and hands it to the frame around it. Nothing is ever evaluated, Python's
stack never grows, and equal subtrees are one object because AST nodes are interned. What is spelled
the same again (most views and loads are) is looked up by its spelling.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kernelref.errors import InvalidInput
from kernelref.ir.index import Sint, and_, lt
from kernelref.ir.tinygrad_repr.arguments import Arguments, sint
from kernelref.ir.tinygrad_repr.dialect import Reading, interpret
from kernelref.ir.tinygrad_repr.tokens import REPEATED, TOKEN, number
from kernelref.ir.tinygrad_repr.vocabulary import BUILDERS, symbol
from kernelref.ir.verify import MAX_DEPTH, verify

MAX_LINE = 16 << 20
MAX_BRACKETS = 2 * MAX_DEPTH + 16
MAX_OPERATORS = 16
_MAX_SPELLINGS = 50_000
_MAX_SPELLED = 16 << 20

_CLOSING = {"(": ")", "[": "]", "": ""}
_OPERATORS = frozenset({"+", "*", "//", "%", "<", "and"})


def read_line(text: str, *, name: str = "<text>", line: int = 1) -> Reading:
    """Read one line; `name` and `line` say where it comes from.

    Raises: InvalidInput naming file, line and column, or file, line and node.
    """
    return Reader(name).read(text, line)


class Reader:
    """Reads lines of one file and remembers, within a bound, how views and loads were spelled."""

    def __init__(self, name: str = "<text>") -> None:
        self.name = name
        self._spelled: dict[str, Any] = {}
        self._characters = 0

    def read(self, text: str, line: int = 1) -> Reading:
        """The kernel on one line. Raises: InvalidInput naming file, line and column or node."""
        where = f"{self.name}:{line}"
        if len(text) > MAX_LINE:
            raise InvalidInput(f"a line of more than {MAX_LINE} characters", where=where)
        scan = _Scan(text.rstrip("\r\n"), self._spelled)
        try:
            value = scan.run()
        except InvalidInput as error:
            raise InvalidInput(error.message, where=f"{where}:{scan.place + 1}") from None
        self._remember(scan.learned)
        try:
            reading = interpret(value)
            verify(reading.ast)
        except InvalidInput as error:
            inside = f": {error.where}" if error.where else ""
            raise InvalidInput(error.message, where=where + inside) from None
        return reading

    def _remember(self, learned: dict[str, Any]) -> None:
        self._characters += sum(map(len, learned))
        self._spelled.update(learned)
        if len(self._spelled) > _MAX_SPELLINGS or self._characters > _MAX_SPELLED:
            self._spelled.clear()
            self._characters = 0


@dataclass(slots=True)
class _Frame:
    """An open bracket, the constructor before it ("" for none) and what it holds so far.

    `operators` join the items of an index expression; `weight` counts the operators inside the
    value that is being read.
    """

    bracket: str
    constructor: str
    start: int
    items: list[Any] = field(default_factory=list)
    fields: dict[str, Any] = field(default_factory=dict)
    key: str | None = None
    has_comma: bool = False
    operators: list[str] = field(default_factory=list)
    weight: int = 0


class _Scan:
    """One pass over one text. `place` is the offset that an error is about."""

    def __init__(self, text: str, spelled: dict[str, Any]) -> None:
        self.text = text
        self.place = 0
        self.learned: dict[str, Any] = {}
        self._spelled = spelled
        self._position = 0
        self._frame = _Frame("", "", 0)
        self._outer: list[_Frame] = []

    def run(self) -> Any:
        """The one value of the text. Raises: InvalidInput about `place`."""
        needs_value = True
        while (word := TOKEN.match(self.text, self._position)) is not None:
            kind = word.lastgroup or ""
            self.place, self._position = word.start(kind), word.end()
            if needs_value:
                needs_value = self._read_value(kind, word[kind])
            else:
                needs_value = self._read_joint(word[kind])
        rest = self.text[self._position :].lstrip(" \t")
        self.place = len(self.text) - len(rest)
        if rest:
            raise InvalidInput(f"cannot read {rest[:20]!r}")
        if self._outer:
            self.place = self._frame.start
            raise InvalidInput(f"{self._frame.bracket} is not closed")
        if needs_value:
            raise InvalidInput("nothing to read")
        return self._frame.items[0]

    def _read_value(self, kind: str, word: str) -> bool:
        """Where a value may begin. Returns whether one is still needed."""
        match kind, word:
            case "number", _:
                return self._deliver(number(word))
            case "text", _:
                return self._deliver(word[1:-1])
            case "name", _:
                return self._read_name(word)
            case _, "(" | "[":
                return self._open(word, "", self.place)
            case _, ")" | "]" if not self._frame.operators and self._frame.key is None:
                return self._close(word)
        raise InvalidInput(f"a value is missing before {word!r}")

    def _read_name(self, name: str) -> bool:
        frame, following = self._frame, self.text[self._position : self._position + 1]
        if following == "=":
            if not frame.constructor or frame.key is not None:
                raise InvalidInput(f"a field {name}= outside a constructor")
            if name in frame.fields:
                raise InvalidInput(f"a second field {name}=")
            frame.key = name
            self._position += 1
            return True
        if following != "(":
            return self._deliver(symbol(name))
        pattern = REPEATED.get(name)
        spelling = pattern.match(self.text, self.place) if pattern else None
        if spelling is not None and spelling[0] in self._spelled:
            self._position = spelling.end()
            return self._deliver(self._spelled[spelling[0]])
        if name not in BUILDERS:
            symbol(name)
            raise InvalidInput(f"{name} takes no arguments")
        start = self.place
        self._position += 1
        return self._open("(", name, start)

    def _read_joint(self, word: str) -> bool:
        """Between values: a comma, an operator or the end of the bracket."""
        frame = self._frame
        if word in (")", "]"):
            return self._close(word)
        if word == "," and frame.bracket and not frame.operators:
            frame.has_comma, frame.weight = True, 0
            return True
        if word in _OPERATORS and frame.bracket == "(" and not frame.constructor:
            if frame.has_comma or word not in (frame.operators or [word]):
                raise InvalidInput(f"operator {word} without brackets of its own")
            frame.operators.append(word)
            frame.weight += 1
            if frame.weight > MAX_OPERATORS:
                raise InvalidInput(f"an expression of more than {MAX_OPERATORS} operators")
            return True
        raise InvalidInput(f"{word!r} does not fit here")

    def _open(self, bracket: str, constructor: str, start: int) -> bool:
        self._outer.append(self._frame)
        if len(self._outer) > MAX_BRACKETS:
            raise InvalidInput(f"brackets nest deeper than {MAX_BRACKETS}")
        self._frame = _Frame(bracket, constructor, start)
        return True

    def _close(self, bracket: str) -> bool:
        frame = self._frame
        if bracket != _CLOSING[frame.bracket]:
            raise InvalidInput(f"{bracket} closes nothing")
        self.place = frame.start
        value = self._value_of(frame)
        if frame.constructor in REPEATED:
            spelling = REPEATED[frame.constructor].fullmatch(self.text, frame.start, self._position)
            if spelling is not None:
                self.learned[spelling[0]] = value
        self._frame = self._outer.pop()
        self._frame.weight += frame.weight
        return self._deliver(value)

    def _value_of(self, frame: _Frame) -> Any:
        items = tuple(frame.items)
        if frame.constructor:
            return BUILDERS[frame.constructor](Arguments(items, frame.fields))
        if frame.bracket == "[":
            return list(items)
        if frame.has_comma or not items:
            return items
        value = sint(items[0], "operand")
        for operator, item in zip(frame.operators, items[1:], strict=True):
            value = _apply(operator, value, sint(item, "operand"))
        return value

    def _deliver(self, value: Any) -> bool:
        frame = self._frame
        if frame.key is not None:
            frame.fields[frame.key] = value
            frame.key = None
        else:
            frame.items.append(value)
        return False


def _apply(operator: str, left: Sint, right: Sint) -> Sint:
    """One operator of the text; the releases divide index expressions as Python does."""
    match operator:
        case "+":
            return left + right
        case "*":
            return left * right
        case "<":
            return lt(left, right)
        case "and":
            return and_(left, right)
    if not isinstance(right, int) or right < 1:
        raise InvalidInput(f"{operator} by {right}")
    return left // right if operator == "//" else left % right

"""Hash-consing: nodes built from equal fields are the same object.

Real ASTs are DAGs whose printed trees reach millions of characters. With interned nodes equality is
identity and hashing takes constant time, so no walk over an AST or an index expression ever has to
compare or hash a subtree. A class whose fields compare equal without meaning the same (0.0 and
-0.0) overrides `intern_key`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from typing import Any
from weakref import ref

Key = tuple[object, ...]


class _Reference(ref[Any]):
    """A node that nobody has to keep, and the key under which it is found."""

    __slots__ = ("key",)
    key: Key


_TABLE: dict[Key, _Reference] = {}


def _forget(reference: _Reference) -> None:
    """Drop the key of a node that is gone, unless another node has it by now."""
    if _TABLE.get(reference.key) is reference:
        del _TABLE[reference.key]


class InternedMeta(type):
    """Construction returns the node that already exists for these fields, if there is one."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """The node for these fields."""
        if not kwargs and len(args) == _key_length(cls):
            # Most nodes are known already; where the arguments are the key, none is made to look.
            key: Key = (cls, *args)
            known = _TABLE.get(key)
            if known is not None and (node := known()) is not None:
                return node
            made = super().__call__(*args)
        else:
            made = super().__call__(*args, **kwargs)
            key = (cls, *made.intern_key())
            known = _TABLE.get(key)
            if known is not None and (node := known()) is not None:
                return node
        reference = _Reference(made, _forget)
        reference.key = key
        _TABLE[key] = reference
        return made


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Interned(metaclass=InternedMeta):
    """Base of interned frozen dataclasses (subclasses too: frozen, slots, eq=False)."""

    def intern_key(self) -> Key:
        """The values that tell one node from another: all fields, by default."""
        return tuple([getattr(self, name) for name in _init_fields(type(self))])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, name) for name in _init_fields(type(self)))


@cache
def _init_fields(cls: type[Interned]) -> tuple[str, ...]:
    """Names of the constructor's arguments; asked once a class, for nodes are many."""
    return tuple(field.name for field in fields(cls) if field.init)


@cache
def _key_length(cls: type[Interned]) -> int:
    """How many arguments are the key as they are given; -1 where a class makes its own."""
    return len(_init_fields(cls)) if cls.intern_key is Interned.intern_key else -1

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
from weakref import WeakValueDictionary

_TABLE: WeakValueDictionary[tuple[object, ...], Any] = WeakValueDictionary()


class InternedMeta(type):
    """Construction returns the node that already exists for these fields, if there is one."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """The node for these fields."""
        node = super().__call__(*args, **kwargs)
        return _TABLE.setdefault((cls, *node.intern_key()), node)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Interned(metaclass=InternedMeta):
    """Base of interned frozen dataclasses (subclasses too: frozen, slots, eq=False)."""

    def intern_key(self) -> tuple[object, ...]:
        """The values that tell one node from another: all fields, by default."""
        return tuple([getattr(self, name) for name in _init_fields(type(self))])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, name) for name in _init_fields(type(self)))


@cache
def _init_fields(cls: type[Interned]) -> tuple[str, ...]:
    """Names of the constructor's arguments; asked once a class, for nodes are many."""
    return tuple(field.name for field in fields(cls) if field.init)

"""Small damages to a line of text, by a seed: flips, deletions, swaps, doublings, foreign words."""

from __future__ import annotations

import random

WORDS = (
    "(", ")", "[", "]", ",", "=", "'", "LazyOp(", "View(", "NumNode(1)", "Variable('i', 1, 9)",
    "None", "True", "nan", "-inf", "0", "-1", "1e999", "99999999999999999999", "\0", "é", "dtypes.",
    "(1+(2*3))", "//", " and ", "lambda:", "__import__('os')",
)  # fmt: skip


def mutated(line: str, rng: random.Random) -> str:
    """`line` after one to four damages."""
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(line) + 1)
        length = min(rng.choice((1, 1, 1, 2, 5, 20, 200)), len(line) - at)
        part = line[at : at + length]
        match rng.randrange(6):
            case 0:
                flipped = "".join(
                    chr(ord(character) ^ 1 << rng.randrange(7)) for character in part[:1]
                )
                line = line[:at] + flipped + line[at + 1 :]
            case 1:
                line = line[:at] + line[at + length :]
            case 2:
                line = line[:at] + part * 2 + line[at + length :]
            case 3:
                to = rng.randrange(len(line) + 1)
                line = line[:to] + part + line[to:]
            case 4:
                line = line[:at] + rng.choice(WORDS) + line[at + length :]
            case 5:
                line = line[:at] + rng.choice(WORDS) + line[at:]
    return line

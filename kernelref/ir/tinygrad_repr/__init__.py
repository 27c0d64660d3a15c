"""The text in which tinygrad 0.8.0 to 0.9.1 print kernel ASTs, read without evaluating anything.

`read_line` reads one line; a `Reader` reads many and remembers what repeats. `tokens` holds the
words of the text, `vocabulary` and `nodes` what each name means, `reader` the machine that puts
them together, `dialect` what a line is as a whole.
"""

from kernelref.ir.tinygrad_repr.dialect import Dialect, Reading, dialect_of
from kernelref.ir.tinygrad_repr.reader import Reader, read_line
from kernelref.ir.tinygrad_repr.vocabulary import WrittenOpt

__all__ = ["Dialect", "Reader", "Reading", "WrittenOpt", "dialect_of", "read_line"]

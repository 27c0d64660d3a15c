"""One kernel as a person sees it: AST, coloured axes after each opt, index maps, text."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from kernelref.jobs.show import Look, Step
from kernelref.report.text import columns


def picture(look: Look) -> Text:
    """Everything that `show` prints."""
    return Text("\n").join(_lines(look))


def _lines(look: Look) -> Iterator[Text]:
    yield Text(look.kernel + (f": {look.title}" if look.title else ""), style="bold")
    if look.origin:
        yield Text(f"from {look.origin}")
    yield Text("")
    yield Text("AST", style="bold")
    yield from (Text(f"  {line}") for line in look.ast)
    yield Text("")
    yield Text(f"axes under the rules {look.rules}", style="bold")
    for step in look.steps:
        yield _step(step)
        yield from (Text(f"      {line}", style="dim") for line in step.law)
    yield Text("")
    yield Text("buffers, by axes idx0, idx1, ...", style="bold")
    rows = [
        (
            buffer.name,
            buffer.dtype,
            f"({', '.join(buffer.shape)})",
            f"index {buffer.index}",
            "" if buffer.valid == "1" else f"valid {buffer.valid}",
        )
        for buffer in look.buffers
    ]
    yield from map(Text, columns(rows))
    yield Text("")
    yield Text("OpenCL", style="bold")
    yield Text(look.source)


def _step(step: Step) -> Text:
    line = Text("  ")
    for axis, color in zip(step.axes, step.colors, strict=True):
        style = "bold blue" if color == "BLUE" else color
        line.append(str(axis.extent), style=style)
        line.append(f":{axis.type.value} ", style=style)
    line.append(f" {step.opt or 'no opts'}")
    if step.refused_by is not None:
        why = (step.refusal or step.refused_by).removeprefix(f"{step.opt} ")
        line.append(f"  {why}", style="bold red")
    return line

"""What an optimizer may do: Kernels, typed axes, opts and their rules."""

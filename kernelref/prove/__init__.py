"""Why it is right: obligations of a construction, an opt or a sequence, and engines that prove."""

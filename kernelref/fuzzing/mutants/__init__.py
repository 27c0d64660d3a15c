"""Mutants: faults planted on purpose, to measure what the checks see.

Read `mutant` (what one is), `registry` (all of them), `plant` (how they get into a process), then
`suite` and `trial` (what a mutant is put through). Nothing outside this folder knows of them.
"""

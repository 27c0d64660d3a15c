"""The suite: every input that mutants are put through, with the answers of the code as it is.

First the inputs that the registry names, then each small case of the corpus: as it is, built anew,
under drawn legal opts, and under drawn requests of which some are refused. `make_suite` runs in a
process without a mutant.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from kernelref.cases.case import parse_case
from kernelref.cases.corpus import corpus_files
from kernelref.fuzzing.mutants.examine import answer_of, ast_of, examine, opened, requests
from kernelref.fuzzing.mutants.laws import broken_law
from kernelref.fuzzing.mutants.question import Ended, Probe, Question, Subject, Suite
from kernelref.fuzzing.mutants.states import states
from kernelref.fuzzing.mutants.subjects import subject_of
from kernelref.fuzzing.mutants.walks import any_walk, legal_walk
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt, OptOps
from kernelref.run.outcome import Outcome

SEED = 1
MOST_POINTS = 20_000
"""Cases with more iteration points take part only where the registry names them."""

MOST_POINTS_OF_WALKS = 3_000
MOST_POINTS_OF_STATES = 5_000
KINDS = ("regress", "seeds")
FINE = frozenset({Outcome.PASS.value, Outcome.UNSUPPORTED.value})


def make_suite(named: Iterable[Probe], *, is_whole: bool = True) -> Suite:
    """The suite; `is_whole` false: the named inputs alone."""
    suite = Suite({}, {})
    for probe in named:
        if probe.case not in suite.subjects:
            suite.subjects[probe.case] = subject_of(probe.case)
        _ask(suite, probe)
    if is_whole:
        for subject in _small_cases(suite):
            for probe in _probes(subject):
                _ask(suite, probe)
            if subject.points <= MOST_POINTS_OF_STATES:
                walk = _walk_for_states(subject)
                suite.walks[subject.case] = walk
                suite.states.update(states(subject, walk))
    return suite


def _small_cases(suite: Suite) -> Iterator[Subject]:
    """The small cases of the corpus, the smallest first."""
    found = []
    for kind in KINDS:
        for path in corpus_files(kind):
            name = f"{kind}/{path.stem}"
            found.append(suite.subjects.get(name) or subject_of(name))
    for subject in sorted(found, key=lambda subject: (subject.points, subject.case)):
        if subject.points <= MOST_POINTS:
            suite.subjects.setdefault(subject.case, subject)
            yield subject


def _probes(subject: Subject) -> Iterator[Probe]:
    """Every kind of question about one case."""
    rng = random.Random(f"{SEED} {subject.case}")
    yield Probe(subject.case)
    if subject.seed:
        yield Probe(subject.case, is_built=True)
    case = parse_case(subject.text)
    if subject.points <= MOST_POINTS_OF_WALKS:
        for limits in ("", "small"):
            kernel = opened(case, Probe(subject.case, limits=limits), case.ast)
            yield Probe(subject.case, legal_walk(kernel, rng), limits)
            yield Probe(subject.case, any_walk(kernel, rng), limits)
        for target in ("small-grid", "small-images"):
            yield Probe(subject.case, target=target)
    for tensor in ("metal-shape", "cuda-shape"):
        kernel = opened(case, Probe(subject.case, limits=tensor), case.ast)
        shaped = kernel.attempt(Opt(OptOps.TC, 0, 2))
        if isinstance(shaped, Kernel):
            yield Probe(subject.case, legal_walk(shaped, rng), tensor)


def _walk_for_states(subject: Subject) -> tuple[tuple[str, int | None, int | None], ...]:
    case = parse_case(subject.text)
    return any_walk(opened(case, Probe(subject.case), case.ast), random.Random(subject.case))


def _ask(suite: Suite, probe: Probe) -> None:
    """Add a question with its answers, unless it is there.

    Raises: AssertionError when the code as it is fails it.
    """
    if probe.name in suite.questions:
        return
    subject = suite.subjects[probe.case]
    question = Question(probe, _answers(subject, probe), Ended(""))
    ended = examine(subject, question)
    if ended.outcome not in FINE:
        raise AssertionError(f"without a mutant {probe.name} ends in {ended}")
    law = broken_law(subject, question)
    if law:
        raise AssertionError(f"without a mutant {probe.name} breaks a law: {law}")
    suite.questions[probe.name] = Question(probe, question.answers, ended)


def _answers(subject: Subject, probe: Probe) -> tuple[str, ...]:
    """What is said to each request."""
    case = parse_case(subject.text)
    kernel = opened(case, probe, ast_of(subject, probe))
    answers = []
    for opt in requests(case, probe):
        taken = kernel.attempt(opt)
        answers.append(answer_of(taken))
        if isinstance(taken, Kernel):
            kernel = taken
    return tuple(answers)

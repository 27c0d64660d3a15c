# `make fuzz` shows what kernelref does, `make test` runs every test. Both set up .venv first and
# need Python 3.11 or newer with pip, nothing else: the OpenCL device (PoCL) comes from the lock.

PYTHON ?= python3
PYTEST_FLAGS ?=
BUDGET ?= 60s
SEED ?= 1

.PHONY: fuzz test check setup lock clean

# Random kernels under random opts until the time is up: proved, interpreted, run on the embedded
# OpenCL device. What is found is kept in build/fuzz.
fuzz: setup
	.venv/bin/kernelref doctor
	@rm -rf build/fuzz
	.venv/bin/kernelref fuzz --device interp --device pocl --seed $(SEED) --budget $(BUDGET) \
	  --store build/fuzz

test: setup
	.venv/bin/python -m pytest $(PYTEST_FLAGS)

check: setup
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy

setup: .venv/ready

.venv/ready: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet --require-hashes -r requirements.lock
	.venv/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

# The options keep out of the lock what belongs to one machine: index hosts, local folders.
lock:
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet pip-tools
	build/lock/bin/pip-compile --quiet --generate-hashes --strip-extras --no-header \
	  --extra opencl --extra prove --extra fuzz --extra distributed --extra dev --annotation-style=line \
	  --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options \
	  --output-file build/lock/requirements.lock pyproject.toml
	sed -n 1p requirements.lock > build/lock/head
	cat build/lock/head build/lock/requirements.lock > requirements.lock

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

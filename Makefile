# make demo | test | check | docs | bench | fuzz. Each makes the environment that it needs and keeps it.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check lint format types layers docs bench fuzz clean environment

demo:
	@.ci/environment .venv $(PYTHON) -e .
	@$(BIN)/bayesvb demo

test: environment
	@.ci/test

check: lint format types layers

lint: environment
	$(BIN)/ruff check .

format: environment
	$(BIN)/ruff format --check .

types: environment
	$(BIN)/mypy

layers: environment
	$(BIN)/pytest -q tests/test_layers.py tests/test_sizes.py tests/test_language.py

docs:
	@.ci/environment .venv-docs $(PYTHON) -e .[docs]
	@.venv-docs/bin/sphinx-build --jobs 2 --quiet --fail-on-warning --keep-going docs build/docs
	@echo build/docs/index.html

# CPU time of common steps beside that of another commit, at most 3% more: make bench BEFORE=main
BEFORE ?= HEAD~1
bench: environment
	@[ -d build/before ] || git worktree add --force --detach build/before > /dev/null
	@git -C build/before checkout --quiet --detach $(BEFORE)
	@rm -f build/before/.venv/installed-* && .ci/environment build/before/.venv $(PYTHON) -e build/before
	@$(BIN)/python tests/benchmarks/bench_waits.py --before build/before/.venv/bin/python \
	    --most 1.03 --repeats 9 --cases "base 1000" "groups 2000" "network 200"

fuzz: environment
	@BAYESVB_ATTACKS=60 $(BIN)/pytest -q -m heavy tests/attacks

clean:
	rm -rf .venv .venv-wheel .venv-py313 .venv-oldest .venv-docs .venv-mcmc .results build

environment:
	@.ci/environment .venv $(PYTHON) -e .[test]

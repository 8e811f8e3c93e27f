# make demo | test | check | bench. Each makes the environment that it needs and keeps it.
PYTHON ?= python3
PYTHON313 := $(shell .ci/python313)
BIN := .venv/bin

.PHONY: demo test check lint format types layers bench clean environment environments

demo:
	@.ci/environment .venv $(PYTHON) -e .
	@$(BIN)/bayesvb demo

test: environments
	@.ci/test

check: lint format types layers

lint: environment
	$(BIN)/ruff check .

format: environment
	$(BIN)/ruff format --check .

types: environment
	$(BIN)/mypy

layers: environment
	$(BIN)/pytest -q tests/test_layers.py

bench: environment
	@for script in tests/benchmarks/bench_*.py; do echo "$$script"; $(BIN)/python "$$script" || exit 1; done

clean:
	rm -rf .venv .venv-wheel .venv-py313 .results build

environment:
	@.ci/environment .venv $(PYTHON) -e .[test]

# The wheel itself is installed by .ci/test, anew each time; here only what it needs.
environments: environment
	@rm -rf build
	@.ci/environment .venv-wheel $(PYTHON) .[test]
	@if [ -n "$(PYTHON313)" ]; then .ci/environment .venv-py313 $(PYTHON313) -e .[test]; fi

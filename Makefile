# Everything a person or CI types. `make help` lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO_ARGS ?=
PYTEST_ARGS ?=
TEST_WORKERS ?= 2
CHAOS_ARGS ?=
FUZZ_ARGS ?=
FRAMEWORKS ?=
PIP := $(BIN)/python -m pip --disable-pip-version-check -q

.DEFAULT_GOAL := help
.PHONY: help demo messages test test-clone test-thorough test-filters test-kills test-frameworks chaos fuzz check secrets audit lint format types imports clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "rag-monitor needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV)

COMPILED := hatch_build.py $(shell find rag_monitor -name '*.pyx' -o -name '*.pxi')

$(VENV)/.server: pyproject.toml $(COMPILED) | $(BIN)/python
	@echo "installing rag-monitor into $(VENV) ..." >&2
	@$(PIP) install -c constraints.txt -e ".[server]" >&2
	@touch $@

$(VENV)/.test: pyproject.toml $(COMPILED) | $(BIN)/python
	@echo "installing rag-monitor and its test tools into $(VENV) ..." >&2
	@$(PIP) install -U "pip>=25.1" >&2
	@$(PIP) install -c constraints.txt -e ".[all,gpu]" --group test --group lint >&2
	@touch $@ $(VENV)/.server

demo: $(VENV)/.server ## run the story: a RAG application is watched, breaks, and the alert fires
	@$(BIN)/rag-monitor demo $(DEMO_ARGS)

test: $(VENV)/.test ## run every test (SQLite, and PostgreSQL where one answers)
	@$(BIN)/python -m pytest --numprocesses=$(TEST_WORKERS) --dist=loadfile --no-loadscope-reorder $(PYTEST_ARGS)

messages: $(VENV)/.test ## add new messages to the catalogues of translations, remove unused ones
	@$(BIN)/python -m tests.unit.i18n.extraction

test-clone: $(VENV)/.test ## run the README's first commands in a fresh clone; installs, so minutes
	@RAG_MONITOR_TEST_CLONE=1 $(BIN)/python -m pytest tests/acceptance/test_fresh_clone.py

test-thorough: $(VENV)/.test ## 10,000 hostile objects and handlers through the SDK; minutes
	@$(BIN)/python -m pytest tests/unit/sdk/test_hostile.py --hypothesis-profile=thorough --timeout=3600 $(PYTEST_ARGS)

test-filters: $(VENV)/.test ## 5,000 random requests, 20,000 random traces per database: every number and list obeys every filter; half an hour
	@RAG_MONITOR_TEST_FILTER_CASES=5000 RAG_MONITOR_TEST_FILTER_TRACES=20000 $(BIN)/python -m pytest tests/integration/filters $(PYTEST_ARGS)

test-frameworks: $(VENV)/.test ## run the newest releases of ten frameworks against the ingest; half an hour
	@$(BIN)/python -m tests.frameworks.run --venvs .frameworks --out .frameworks/payloads $(FRAMEWORKS)
	@RAG_MONITOR_TEST_FRAMEWORKS=.frameworks/payloads $(BIN)/python -m pytest tests/frameworks $(PYTEST_ARGS)

chaos: $(VENV)/.test ## hurt a whole deployment for ten minutes; needs PostgreSQL's programs, better with a C compiler
	@$(BIN)/python -m tests.chaos.run $(CHAOS_ARGS)

test-kills: $(VENV)/.test ## kill ingest 20 times under load over HTTP and over gRPC, on each database; minutes
	@RAG_MONITOR_TEST_KILLS=20 $(BIN)/python -m pytest tests/chaos/test_ingest.py -k kills $(PYTEST_ARGS)

fuzz: $(VENV)/.test ## 10,000 generated requests per database against the OpenAPI document; half an hour
	@$(BIN)/python -m tests.security.fuzz $(FUZZ_ARGS)

check: $(VENV)/.test lint types imports secrets audit ## everything that reads the code without running it

lint: $(VENV)/.test
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(VENV)/.test
	@$(BIN)/mypy

imports: $(VENV)/.test
	@$(BIN)/lint-imports

secrets: $(VENV)/.test
	@$(BIN)/python -m tests.security.secret_scan

audit: $(VENV)/.test
	@$(BIN)/python -m tests.security.dependency_audit

format: $(VENV)/.test ## rewrite the code in the house format
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

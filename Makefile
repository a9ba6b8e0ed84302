# Everything works from a fresh clone: each target first sets up .venv from the committed locks, what it needs and no more.
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup run test test-consumers soak stack test-stack check lock clean

VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.runs
TESTS := $(VENV)/.tests
CONSUMERS := .consumers
ARGS ?=
# An interpreter to use instead of the newest one found: make setup PYTHON=/opt/python/bin/python3
PYTHON ?=

# Without bytecode on disk each of a run's processes compiles the project again: half a second of each start.
unexport PYTHONDONTWRITEBYTECODE

# A release's name may be on PATH without the release behind it (version managers do that), so each one is asked.
FIND_PYTHON = for python in $(PYTHON) $(if $(PYTHON),,python3.13 python3.12 python3.11 python3); do \
	if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; \
	then python=$$("$$python" -c 'import sys; print(sys.executable)'); break; fi; python=; done

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 24

setup: $(RUNS) ## install what running needs, and the project, into .venv

run: setup ## prepare a corpus with the default configuration (ARGS="CONFIG.yaml --workers 4" for another)
	$(BIN)/python flows/prepare.py $(ARGS)

test: $(TESTS) ## run the tests (ARGS="tests/gristmill -k jsonl" for some of them)
	$(BIN)/python -m pytest -n logical $(ARGS)

soak: $(TESTS) ## try every fault on a small job, a quarter of an hour; the tables go into docs/reliability.md
	PYTHONPATH=.:tests/support $(BIN)/python -m soak $(ARGS)

test-consumers: $(TESTS) $(CONSUMERS)/.set-up ## read what is written with the trainers' own code (several GB; LLMC=, NANOCHAT= for checkouts)
	@rm -rf $(CONSUMERS)/data
	$(BIN)/python tests/consumers/prepare.py $(CONSUMERS)/data
	@set -e; for script in tests/consumers/check_*.py; do \
		$(CONSUMERS)/bin/python -W ignore $$script $(CONSUMERS)/data; done

stack: $(TESTS) ## start the services of docker-compose.yml without containers (needs PostgreSQL, Redis; settings from .env)
	$(BIN)/python deployments/local_stack.py $(ARGS)

test-stack: $(TESTS) ## run a deployment on those services: S3 output, restarts in the middle, the pages in a browser
	GRISTMILL_TEST_STACK=1 $(BIN)/python -m pytest tests/deployments/test_stack.py \
		tests/deployments/test_work_pool.py tests/deployments/test_form.py $(ARGS)

check: $(TESTS) ## lint, format, types, import rules, dependencies, spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry .
	$(BIN)/codespell

# Packages by uv where it is installed, else by pip: $(call INSTALL,PYTHON) ARGUMENTS...
INSTALL = if command -v uv >/dev/null; then install="uv pip install --quiet --compile-bytecode --python $(1)"; \
	else $(1) -m pip --version >/dev/null 2>&1 || $(1) -m ensurepip >/dev/null; \
		install="$(1) -m pip install --quiet --disable-pip-version-check"; \
	fi; $$install

# Up to date while the lock, the metadata and this file are: then make has nothing to do.
$(RUNS): requirements.lock pyproject.toml Makefile
	@set -e; $(FIND_PYTHON); \
	if [ -z "$$python" ]; then \
		echo "gristmill needs Python 3.11 or later: none of $(or $(PYTHON),python3.13 python3.12 python3.11 python3)" \
			"is one. Install it, or name one with make setup PYTHON=..." >&2; exit 1; \
	fi; \
	if ! $(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
		rm -rf $(VENV); \
		echo "creating $(VENV) with $$python"; \
		if command -v uv >/dev/null; then uv venv --quiet --python "$$python" $(VENV); \
		else "$$python" -m venv $(VENV) || { rm -rf $(VENV); \
			echo "$$python cannot create environments: install its venv module (Debian: python3-venv), or uv" >&2; \
			exit 1; }; \
		fi; \
	fi
	@echo "installing what running needs (a minute or two the first time)"
	@set -e; $(call INSTALL,$(BIN)/python) --require-hashes -r requirements.lock
	@set -e; $(call INSTALL,$(BIN)/python) --no-deps --no-build-isolation -e .
	@touch $@

$(TESTS): $(RUNS) requirements-dev.lock
	@echo "installing what the tests and checks need (a minute or two the first time)"
	@set -e; $(call INSTALL,$(BIN)/python) --require-hashes -r requirements-dev.lock
	@touch $@

$(CONSUMERS)/.set-up: tests/consumers/requirements.txt tests/consumers/requirements-alone.txt
	@set -e; rm -rf $(CONSUMERS); \
	if command -v uv >/dev/null; then uv venv --quiet --python $(BIN)/python $(CONSUMERS); \
	else $(BIN)/python -m venv $(CONSUMERS); fi
	@set -e; $(call INSTALL,$(CONSUMERS)/bin/python) -r tests/consumers/requirements.txt
	@set -e; $(call INSTALL,$(CONSUMERS)/bin/python) --no-deps -r tests/consumers/requirements-alone.txt
	@touch $@

# Pins that still satisfy pyproject.toml stay; ARGS=--upgrade renews them. What runs is a part of what tests.
LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
	--no-emit-index-url --no-emit-find-links pyproject.toml

lock: ## resolve pyproject.toml into the three locks: to run, to test, for the image (needs uv)
	$(LOCK) $(ARGS) --extra dev --output-file requirements-dev.lock
	$(LOCK) --extra build --constraints requirements-dev.lock --output-file requirements.lock
	$(LOCK) --extra server --constraints requirements-dev.lock --output-file deployments/requirements.lock

clean: ## remove .venv and caches, never out/ or work/
	rm -rf $(VENV) $(CONSUMERS) *.egg-info .hypothesis .pytest_cache .ruff_cache .mypy_cache .import_linter_cache
	find . -path ./.git -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

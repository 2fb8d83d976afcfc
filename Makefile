# The environment is .venv in the checkout; `make VENV=/path test` uses another. `make PYTHON=python3.12` makes it with that.
VENV ?= .venv
PYTHON ?= python3
PY := $(VENV)/bin/python
# How many test files run at once: each may have a vLLM of its own, with some GB of memory. `make JOBS=4 test` runs four.
JOBS ?= 2

.DEFAULT_GOAL := help
.PHONY: help setup demo serve test test-devices test-docs test-upstream test-versions lint bench support conformance docs docs-serve docs-images clean

help: ## print the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r name text; do \
		printf '  make %-13s %s\n' "$$name" "$$text"; done

setup: ## make the environment, once; quick when there is nothing to do
	@$(PYTHON) tools/setup_env.py --venv "$(VENV)"

demo: setup ## pick a device, serve a real model on it, ask it a question, stop
	@$(PY) -m tools.demo

serve: setup ## the same server, staying up until Ctrl-C
	@$(PY) -m tools.demo --serve

test: setup ## all tests, the end-to-end ones too (without: .venv/bin/pytest -m "not e2e")
	$(PY) -m pytest -n $(JOBS) --dist loadfile

test-devices: setup ## several devices: each executor, eager and compiled, data and pipeline parallel, a lost device; many minutes
	$(PY) -m pytest tests/e2e/test_several_devices.py tests/e2e/more_devices.py

test-docs: setup ## what `make test` has of the documentation: every code block, the site in a browser
	$(PY) -m pytest tests/docs

test-upstream: export ACCELPLUG_SIMULATE ?= neuron
test-upstream: setup ## vLLM's own tests on simulated neuron, minutes; on spyre: ACCELPLUG_SIMULATE=spyre make test-upstream
	$(PY) -m pytest --accelplug-upstream vllm --accelplug-upstream-page docs/upstream.md

test-versions: setup ## the vLLM adapter with each vLLM it supports (1 GB of wheels, minutes); writes docs/versions.md
	$(PY) -m tools.versions

lint: setup ## ruff, mypy and the import rules
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

bench: setup ## run the benchmarks; results in benchmarks/RESULTS.md
	$(PY) -m benchmarks

support: setup ## run what people do with vLLM on each device (minutes); results in docs/support.md
	$(PY) -m tools.support

conformance: setup ## the conformance reports in docs/conformance: cpu and simulated devices (a quarter of an hour; goes on where it was)
	$(PY) -m tools.conformance

docs: export NO_MKDOCS_2_WARNING := 1
docs: setup ## build the documentation's site, into build/site
	$(PY) -m mkdocs build --strict

docs-serve: export NO_MKDOCS_2_WARNING := 1
docs-serve: setup ## the same at http://127.0.0.1:8000, built anew when a file changes
	$(PY) -m mkdocs serve

docs-images: setup ## take the pictures in docs/images anew: real runs on simulated devices, in headless Chromium
	$(PY) -m tools.site.screenshots

clean: ## remove build outputs and caches; the environment stays
	rm -rf build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -not -path './.venv/*' -prune -exec rm -rf {} +

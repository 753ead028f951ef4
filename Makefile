# Every target sets itself up: Python 3.11+ and make are all a machine needs.
#   make demo                     see it work
#   make test ARGS="-k winnow"    ARGS goes to the tool that the target runs
#   make test PYTHON=python3.13   the Python that .venv is made with

PYTHON ?= python3
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

NUMBA_CACHE_DIR ?= $(CURDIR)/.cache/numba
export NUMBA_CACHE_DIR
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test lint bench bench-guard bench-fuse bench-sharing bench-adapters compat reproduce soak docs lock setup clean

demo: setup
	$(BIN)/linmax demo $(ARGS)

test: setup
	MPLBACKEND=Agg $(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --cache-dir .cache/import-linter

bench: setup
	$(BIN)/python -m benchmarks $(ARGS)

# Did a change make anything slower? What can be counted, and ratios to plain C, beside benchmarks/results/guard.json.
bench-guard: setup
	$(BIN)/python -m benchmarks.guard $(ARGS)

# Other libraries run beside linmax, from an environment of their own in .cache/peers.
bench-fuse: setup
	$(BIN)/python -m benchmarks.fuse $(ARGS)

bench-sharing: setup
	$(BIN)/python -m benchmarks.sharing $(ARGS)

# The adapters beside scikit-learn's and River's own ensembles, and what they cost over the session.
bench-adapters: setup
	$(BIN)/python -m benchmarks.adapters $(ARGS)

# The adapters' tests against the newest scikit-learn and River there are, in an environment of their own.
ADAPTERS := tests/adapters
compat:
	$(PYTHON) -m venv .cache/compat
	.cache/compat/bin/python -m pip install --quiet --upgrade scikit-learn river pandas polars pytest hypothesis
	.cache/compat/bin/python -m pip install --quiet --editable .
	.cache/compat/bin/python -m pip list | grep -i -E "^(scikit-learn|river|numpy|pandas|polars|narwhals) "
	MPLBACKEND=Agg .cache/compat/bin/python -m pytest $(ADAPTERS) $(ARGS)

# Kills a run that writes checkpoints, 50 times, and lets it go on; then the checks that compile for minutes.
soak: setup
	$(BIN)/python -m tests.slow.soak $(ARGS)
	$(BIN)/python -m pytest -q tests/slow

reproduce: setup
	$(BIN)/linmax reproduce $(ARGS)

docs: setup
	$(BIN)/python -m experiments.again
	$(BIN)/python -m benchmarks.pages
	$(BIN)/python -m docs.build $(ARGS)

setup: $(READY)

$(READY): requirements.lock pyproject.toml
	@command -v $(PYTHON) >/dev/null 2>&1 || { \
	  echo "linmax needs Python 3.11 or later and found no $(PYTHON); install one or name yours: make PYTHON=/path/to/python"; \
	  exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "linmax needs Python 3.11 or later ($(PYTHON) is $$($(PYTHON) --version 2>&1)); name a newer one: make PYTHON=python3.12"; \
	  exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# Keeps the pins that still fit; make lock ARGS=--upgrade takes the newest of everything.
lock:
	$(PYTHON) -m venv .cache/lock
	.cache/lock/bin/python -m pip install --quiet uv
	UV_CUSTOM_COMPILE_COMMAND="make lock" .cache/lock/bin/uv pip compile pyproject.toml --group dev \
	  --universal --python-version 3.11 --generate-hashes --no-emit-index-url --quiet $(ARGS) -o requirements.lock

clean:
	rm -rf $(VENV) .cache .hypothesis .mypy_cache .ruff_cache .pytest_cache .import_linter_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

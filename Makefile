# make demo: build sample_pkg with the compiler from pip, whatever is installed; install it, run it.
# make test: the linters, then all tests.
# Each makes a virtual environment of its own. Needed: Python (with venv and headers), make, g++.

PYTHON ?= python3
DEMO := build/venv-demo
TEST := build/venv-test
DIST := build/dist

.PHONY: help demo test lint clean

help:
	@sed -n 's/^# //p' Makefile

demo:
	$(PYTHON) -m venv --clear $(DEMO)
	rm -rf $(DIST)
	$(DEMO)/bin/python -m pip wheel --quiet --no-deps --wheel-dir $(DIST) .
	SETUPTOOLS_CUDA_TOOLCHAIN_STEPS="wheel pip" \
	$(DEMO)/bin/python -m pip wheel --no-deps --find-links "$(CURDIR)/$(DIST)" --wheel-dir $(DIST) ./sample_pkg
	$(DEMO)/bin/python -m pip install --quiet --no-deps $(DIST)/sample_pkg-*.whl
	cd build && venv-demo/bin/python -m sample_pkg

$(TEST)/ready: pyproject.toml
	$(PYTHON) -m venv --clear $(TEST)
	$(TEST)/bin/python -m pip install --quiet --editable '.[test,lint,toolchain]'
	touch $@

lint: $(TEST)/ready
	$(TEST)/bin/ruff check
	$(TEST)/bin/ruff format --check
	$(TEST)/bin/mypy

test: lint
	$(TEST)/bin/python -m pytest -n auto --maxprocesses 8

clean:
	rm -rf build sample_pkg/build

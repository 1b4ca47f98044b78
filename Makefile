# Needs Python 3.11 or later and make; everything else is installed into .venv.
PYTHON ?= python3
WORKERS ?= 2
BIN := .venv/bin
READY := .venv/ready

.PHONY: test check bench clean

test: $(READY)
	$(BIN)/pytest -q -n $(WORKERS)

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# DATA: files of baskets, one a line, to be measured besides.
bench: $(READY)
	$(BIN)/python bench/run.py $(DATA)

# The build backend comes first, so that it is pinned too and nothing is built in isolation.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		hatchling editables
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		--no-build-isolation --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Needs Python 3.11 or later and make; everything else is installed into .venv.
PYTHON ?= python3
WORKERS ?= 2
BIN := .venv/bin
READY := .venv/ready
# A release needs fewer packages than development; a development environment is reused.
USABLE := $(if $(wildcard $(READY)),$(READY),.venv/usable)

.PHONY: test test-slow test-all test-spark spark mutants check audit docs bench faults fuzz tampering release screenshots ui clean

# Tests start processes, which must find compiled modules even if the environment disables them.
test test-slow: export PYTHONDONTWRITEBYTECODE =

test: $(READY)
	$(BIN)/pytest -q -n $(WORKERS)

# Tests with browsers, killed processes, Dagster projects and benchmarks; takes minutes.
test-slow: $(READY)
	$(BIN)/pytest -q -n $(WORKERS) -m slow

test-all: test test-slow

# The engine spark on one machine and on a cluster of two workers on this machine; needs Java 17.
test-spark: spark
	$(BIN)/pytest -q tests/engines/test_spark.py tests/engines/test_spark_cluster.py \
		-m 'slow or spark_cluster'

# PySpark (400 MB) is not part of a development install; without it, its tests are skipped.
spark: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		'pyspark[connect]'

# Mutation testing. MODULES: files to mutate, such as setanon_core/verify.py, default all of
# tests/mutants/modules.toml; MUTANTS: number per module, chosen by SEED, default all (hours).
mutants: $(READY)
	PYTHONPATH=tests $(BIN)/python -m mutants $(MODULES) --workers $(WORKERS) \
		$(if $(MUTANTS),--sample $(MUTANTS)) $(if $(SEED),--seed $(SEED))

check: audit
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Known vulnerabilities of the packages in constraints.txt; asks an advisory database.
audit: $(READY)
	$(BIN)/python .ci/audit.py

# The documentation, in build/site; its search needs a server: .venv/bin/mkdocs serve.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# SIZES: queries of the logs to release, such as "40000 400000 4000000 20000000"; DATA: additional
# files of baskets (one per line) or logs; PARTS: what to measure, default everything; BENCH: other
# options of bench/run.py.
bench: $(READY)
	$(BIN)/python bench/run.py $(if $(SIZES),--sizes $(SIZES)) $(if $(DATA),--data $(DATA)) \
		$(if $(PARTS),--parts $(PARTS)) $(BENCH)

# Killed runs, full disks and other faults, in a temporary folder; FAULTS: options, such as
# "--kills 20 --only disk". Mounts small file systems if run by root.
faults: $(READY)
	PYTHONPATH=tests $(BIN)/python -m faults $(FAULTS)

# Malformed lines; FUZZ: options, such as "--lines 10000 --seed 1".
fuzz: $(READY)
	PYTHONPATH=tests $(BIN)/python -m fuzz $(FUZZ)

# Releases with one change each, which the verifier must refuse; TAMPERING: options, such as
# "--releases 1000 --seed 1".
tampering: $(READY)
	PYTHONPATH=tests $(BIN)/python -m tampering $(TAMPERING)

# Read, anonymize, check, verify and publish a synthetic log.
release: $(USABLE)
	$(BIN)/setanon demo

ui: $(READY)
	$(BIN)/setanon ui

# Screenshots of the demo for README and docs; needs Chromium.
screenshots: $(READY)
	PYTHONPATH=tests $(BIN)/python docs/screenshots.py

# The build backend is installed first, so that constraints.txt pins it, too.
$(READY): EXTRA := dev
.venv/usable: EXTRA := dagster,plot
$(READY) .venv/usable: pyproject.toml constraints.txt
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		hatchling editables
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		--no-build-isolation --editable '.[$(EXTRA)]'
	touch $@

clean:
	rm -rf .venv build .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

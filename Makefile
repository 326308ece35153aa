# A fresh machine needs python3 (3.11 or newer) and make; missing Debian packages are installed with apt-get. The rest goes into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# what the package needs, and on top of it what the tests need
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready

# Tests marked realdata read this folder; they are skipped where it is not set.
STANDOUT_DATA ?= $(abspath $(wildcard ../shared/data))
ifneq ($(strip $(STANDOUT_DATA)),)
export STANDOUT_DATA
else
unexport STANDOUT_DATA
endif

# Packages are installed without bytecode, which is written at the first import: otherwise each process would make it again.
unexport PYTHONDONTWRITEBYTECODE

# test processes at the same time
JOBS ?= $(shell nproc)
# whole files, in the order of tests/conftest.py
PYTEST = $(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

# sudo -n: never stop to ask for a password
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo "sudo -n")
APT_INSTALL := $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo test test-integration test-seconds test-all lint format figures bench screenshots attack-table defense-table calibration linking linking-coverage frontier gate-trial gate-forgery gate-dressing online-retail
.PHONY: brute-force defended-calibration fuzz mutation kill-trial dist compiled-wheel sbom audit-dependencies test-offline chromium packages clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z.-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(INSTALLED)  ## audit a built-in synthetic release; prints a table and the path of the report
	@$(BIN)/standout demo

test: $(READY) lint  ## lint, then run the quick tests: no servers, no killed processes
	@$(PYTEST) -m "not slow and not integration" tests src

test-integration: $(READY) packages  ## tests that kill processes, start servers, Spark, a browser or many commands, and long trials
	@$(PYTEST) -m "integration and not slow" tests

test-seconds: $(READY) packages  ## record the processor seconds of each test file, by which files are given to processes
	@$(PYTEST) -m "not slow" --record-seconds tests src

test-all: $(READY) packages lint  ## lint, then run all tests; STANDOUT_DATA names the folder of public datasets
	@$(PYTEST) tests src

test-offline: $(READY)  ## all tests but the slow ones and those of browser, databases and Spark, with connections refused
	@$(PYTEST) -m "not slow and not browser" --no-network tests src \
	  --ignore=tests/data/test_postgres.py --ignore=tests/data/test_object_stores.py --ignore-glob='tests/*/test_spark*'

lint: $(READY)  ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)  ## format the code with ruff
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

figures: $(READY)  ## rebuild docs/reproduction.md and its pictures; takes half an hour, mostly for the full-size twin
	$(BIN)/python docs/scripts/reproduction.py figures $(if $(STANDOUT_DATA),--movielens $(STANDOUT_DATA)/ml-latest-small)
	@mkdir -p .bench-cache
	$(BIN)/python docs/scripts/reproduction.py full --twin .bench-cache/netflix-twin.parquet

bench: $(READY)  ## measure speed at Netflix Prize size and beyond memory; rewrites docs/speed.md; takes half an hour and 10 GB
	$(BIN)/standout bench --size 1 --targets 300 --out benchmarks/results/bench.jsonl --growth docs/images/growth.png
	$(BIN)/python docs/scripts/speed.py
	$(BIN)/python benchmarks/chunked.py --copies 0.05,1,3 --work .bench-cache/chunked --out benchmarks/results/chunked.jsonl

screenshots: $(READY) chromium  ## rebuild the pictures of the README and the docs
	@$(BIN)/python docs/scripts/screenshots.py

attack-table: $(READY)  ## rebuild docs/attack-table.md: every attack on MovieLens latest-small (STANDOUT_DATA)
	@$(BIN)/python docs/scripts/attack_table.py "$(STANDOUT_DATA)"

defense-table: $(READY)  ## rebuild docs/defense-table.md: every defense against four attackers on MovieLens latest-small (STANDOUT_DATA)
	@$(BIN)/python docs/scripts/defense_table.py "$(STANDOUT_DATA)"

calibration: $(READY)  ## rebuild docs/calibration.md: what the likelihood says of presence, beside what is true (STANDOUT_DATA; ONLY=choices, related or attributes: that section)
	@$(BIN)/python docs/scripts/calibration_table.py $(ONLY)

brute-force: $(READY)  ## rebuild docs/brute-force.md: unique, found and sure beside a brute force that shares no code (STANDOUT_DATA)
	@$(BIN)/python docs/scripts/brute_force.py

defended-calibration: $(READY)  ## rebuild docs/defended-calibration.md: posteriors on defended releases, beside what is true (STANDOUT_DATA)
	@$(BIN)/python docs/scripts/defended_calibration.py

gate-trial: $(READY)  ## how often the release gate is wrong, in 1,000 seeded checks of data with a known rate; takes ten minutes
	@$(BIN)/python docs/scripts/gate_trial.py

gate-forgery: $(READY)  ## forged evidence and what `verify` says about it: the table of docs/gate.md
	@$(BIN)/python docs/scripts/gate_forgery.py

gate-dressing: $(READY)  ## what the release gate says about 36 releases that are dressed to look safe, 12 safe ones and planted groups
	@$(BIN)/python docs/scripts/gate_dressing.py

dist: $(READY)  ## build sdist and wheel into dist/; the same commit gives the same bytes
	@$(BIN)/python docs/scripts/dist.py

compiled-wheel: $(READY)  ## build a wheel for this Python on Linux that brings the functions of an audit compiled
	@$(BIN)/python docs/scripts/compiled_wheel.py

sbom: $(READY)  ## write dist/standout.cdx.json: everything that is installed with this package, as CycloneDX
	@mkdir -p dist && $(BIN)/python docs/scripts/sbom.py > dist/standout.cdx.json && echo dist/standout.cdx.json

audit-dependencies: $(READY)  ## ask a public service for known vulnerabilities of the pinned dependencies; needs network and pip-audit
	@$(BIN)/python docs/scripts/audit_dependencies.py

kill-trial: $(READY)  ## kill the long commands KILLS times at random moments and compare the numbers after they continue
	@$(BIN)/python docs/scripts/kill_trial.py $(or $(KILLS),50) $(or $(SEED),0)

fuzz: $(READY)  ## read N damaged files of every format (make fuzz N=20000 SEED=0); failures are printed with their seed
	@cd tests && nice ../$(BIN)/python -m fuzz.run --n $(or $(N),2000) --seed $(or $(SEED),0) --workers $(JOBS) \
	  $(if $(LOG),--log $(abspath $(LOG)))

mutation: $(READY)  ## change the code in N places, one at a time: do the tests notice? (make mutation N=150 SEED=0 LOG=mutation.jsonl)
	@cd tests && nice ../$(BIN)/python -m mutation.judge_mutants --n $(or $(N),150) --seed $(or $(SEED),0) --workers $(JOBS) \
	  $(if $(LOG),--log $(abspath $(LOG))) $(if $(ONLY),--only $(ONLY))

online-retail: $(READY)  ## rebuild docs/online-retail.md: a shop audited with receipts, amounts and countries (STANDOUT_DATA)
	@$(BIN)/python docs/scripts/online_retail.py "$(STANDOUT_DATA)"

frontier: $(READY)  ## rebuild docs/frontier.md: defenses compared on two real releases (STANDOUT_DATA); takes half an hour
	@mkdir -p .bench-cache
	$(BIN)/python docs/scripts/frontier.py ml-latest-small
	$(BIN)/python docs/scripts/frontier.py online-retail
	$(BIN)/python docs/scripts/frontier.py f06
	$(BIN)/python docs/scripts/frontier.py speed

linking: $(READY)  ## rebuild docs/linking.md: two real pairs of files, linked without the truth (STANDOUT_DATA)
	@$(BIN)/python docs/scripts/linking.py "$(STANDOUT_DATA)"

linking-coverage: $(READY)  ## rebuild docs/linking_coverage.md: how often linking's statements hold on held-out pairs (STANDOUT_DATA)
	@$(BIN)/python docs/scripts/linking_coverage.py "$(STANDOUT_DATA)"

.venv: $(READY)  ## create only the virtual environment

clean:  ## remove the environment, caches and build output (reports in standout-out stay)
	rm -rf $(VENV) build dist src/*.egg-info .bench-cache
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

PIP := $(BIN)/python -m pip install -q --disable-pip-version-check --no-compile -c constraints.txt

$(READY): $(INSTALLED)
	@echo "installing what the tests need"
	@$(PIP) -e ".[dev]"
	@touch $@

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "standout needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V 2>&1). Try: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo "$(PYTHON) cannot make virtual environments: installing python3-venv with apt-get"; \
	       $(SUDO) apt-get update -qq && $(APT_INSTALL) python3-venv; } \
	  || { echo "python3-venv could not be installed. As root: apt-get install python3-venv" >&2; exit 1; }
	@echo "installing standout and what it needs into $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) -e .
	@touch $@

# $(call package,COMMAND THAT SUCCEEDS IF IT IS THERE,DEBIAN PACKAGE,TESTS THAT NEED IT)
define package
	@if $(1); then :; \
	elif ! command -v apt-get >/dev/null; then echo "no $(2) and no apt-get here: the $(3) tests will be skipped"; \
	else echo "installing $(2) with apt-get, for the $(3) tests"; \
	  { $(SUDO) apt-get update -qq && $(APT_INSTALL) $(2); } >/dev/null 2>&1 \
	  || echo "$(2) could not be installed: the $(3) tests will be skipped"; \
	fi
endef

packages: chromium
	$(call package,command -v java >/dev/null || [ -n "$$JAVA_HOME" ],default-jre-headless,Spark)
	$(call package,ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null,postgresql,PostgreSQL)

chromium:
	$(call package,command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null,chromium,browser)

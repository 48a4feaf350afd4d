# The commands of this repository; `make help` lists them. Needs make and Python 3.11 or newer, nothing else.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
LOWEST := .venv-lowest
STREAMER := .venv-streamer
FLINK  := .venv-flink
LOCKS  := requirements-build.lock requirements.lock
# --no-compile: what is never imported, most of it, is not compiled; the first import compiles the rest.
# --no-build-isolation: what builds a package is locked too, and not fetched at its newest beside the lock.
PIP     := -m pip install --quiet --disable-pip-version-check --no-compile
INSTALL := $(PIP) --require-hashes --no-deps --no-build-isolation
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"
FAST_TESTS := $(wildcard tests/unit tests/property tests/test_shape.py)
# Core and stages import no library (a contract of `lint-imports`): their tests, a third of all, say nothing of
# versions, and neither do the guides of CONTRIBUTING and user namespaces.
# How the man page is laid out is the locked click's own.
LIBRARY_TESTS := --deselect tests/unit/test_packaging.py::test_man_page_is_the_one_that_the_commands_make_and_the_wheel_installs_it \
	--ignore tests/unit/core --ignore tests/unit/stages \
	--ignore tests/unit/test_guides.py --ignore tests/unit/app/test_user_namespace.py \
	tests/unit $(filter-out tests/property/test_core_%,$(wildcard tests/property/test_*.py))

# What make test has no time for. faults runs again what make test ran, and counts.
LEFT_OUT := lowest faults hunt kills nights consumer-kills histories change-histories strategies foreign hdfs streamer flink writers examples soak soak-hot duel containers

.DEFAULT_GOAL := help
.PHONY: help setup demo check test everything real integration conformance support faults duel hunt soak soak-hot lowest kills nights consumer-kills histories change-histories strategies foreign hdfs streamer flink writers examples containers bench bench-modes bench-nights bench-guest bench-pull bench-losses bench-index bench-deletes bench-changes bench-rules bench-shapes screenshots sample-report sample-page sbom advisories shape venv lock man clean

##@ Everyday

help: ## list these commands
	@awk -F ':.*## ' '/^##@ / {printf "%s%s\n", gap, substr($$0, 5); gap = "\n"} \
		/^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## make .venv with the tool at .venv/bin/hudi-reconcile (nothing to do when up to date)
	@locks=`cat $(LOCKS) | cksum`; project=`cksum < pyproject.toml`; \
	if [ "$$locks" != "`cat $(VENV)/.locks 2>/dev/null`" ]; then \
		$(MAKE) --no-print-directory venv && printf '%s\n' "$$locks" > $(VENV)/.locks; \
	fi && \
	if [ "$$project" != "`cat $(VENV)/.project 2>/dev/null`" ] || [ ! -x $(BIN)/hudi-reconcile ]; then \
		$(BIN)/python $(PIP) --no-deps --no-build-isolation --no-index --editable . && \
		printf '%s\n' "$$project" > $(VENV)/.project; \
	fi

demo: setup ## the whole story on an embedded PostgreSQL and a real Hudi table
	@$(BIN)/hudi-reconcile demo

check: setup ## format, lint, types, import contracts, unit and property tests: three minutes
	@$(BIN)/ruff format --check
	@$(BIN)/ruff check
	@$(BIN)/mypy
	@MYPYPATH=bench $(BIN)/mypy bench
	@$(BIN)/lint-imports
	@$(BIN)/pytest -q -n 2 --doctest-modules hudi_reconcile $(FAST_TESTS)

test: check real ## check, then the tests on real Spark, Hudi and databases; says what it leaves out
	@echo "left out, run by make everything: $(LEFT_OUT)" >&2
	@echo "left out, no tests: the figures of make bench and its kin" >&2

everything: test $(LEFT_OUT) ## make test and all that it leaves out: hours; what this machine lacks fails instead of being skipped

everything: export REQUIRE_MARIADB = 1
everything: export REQUIRE_CHROMIUM = 1

##@ Longer tests

# Three processes on two cores: each of them waits a third of its time, for the database or for files.
real: setup ## integration and conformance, whose files share three processes, so that none of them ends alone
	@$(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder tests/integration tests/conformance

integration: setup ## the tests on real Spark, Hudi and databases
	@$(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder tests/integration

conformance: setup ## every kind's edges on every engine here, in both modes, ANSI on and off; planted faults turn checks red
	@$(BIN)/pytest -q tests/conformance

faults: setup ## the faults of docs/faults.md: passed / planned; rules taken away: killed / planted
	@$(BIN)/pytest -q -n 2 --dist loadfile --faults tests

duel: setup ## a puller and a sweeper on one table for five minutes, either killed at random; then everything must add up
	@$(BIN)/python bench/duel.py

hunt: setup ## property and fuzz tests with twenty times as many examples, new ones each time; counts of fuzzed inputs at the end
	@HYPOTHESIS_PROFILE=hunt $(BIN)/pytest -q -n 2 tests/property

soak: setup ## sweeps beside writers at full speed for three minutes: no false finding, no drift missed
	@$(BIN)/python bench/soak.py

soak-hot: setup ## forty sweeps beside 2,000 changes a second, in both modes: 0 before drift is planted, then 1 with exactly that
	@$(BIN)/python bench/soak.py --rounds 10 --rows 20000

lowest: ## the fast tests of what uses libraries, on the lowest versions that pyproject.toml allows
	@$(PYTHON) -m venv $(LOWEST)
	@$(LOWEST)/bin/python $(INSTALL) -r requirements-build.lock
	@$(LOWEST)/bin/python $(INSTALL) -r requirements-lowest.lock
	@$(LOWEST)/bin/python -m pytest -q -n 2 -p no:cacheprovider $(LIBRARY_TESTS)

kills: setup ## a paged pull killed at twelve places, and a run over ten tables ended at twenty, three ways: again ends right
	@$(BIN)/pytest -q -s tests/long/test_kills.py tests/long/test_kill_table.py

nights: setup ## thirty nights of run --apply with faults on some: each verdict right, the end equal, what is kept bounded
	@$(BIN)/pytest -q -s tests/long/test_thirty_nights.py

consumer-kills: setup ## a consumer of changes killed with its JVM twenty times at random: its PostgreSQL table ends as the lake
	@$(BIN)/pytest -q tests/long/test_consumer_kills.py

change-histories: setup ## random histories of tables with and without each change log, and what Hudi 0.15 wrote: told right
	@$(BIN)/pytest -q tests/long/test_change_histories.py tests/long/test_change_story.py tests/long/test_hudi_015.py

histories: setup ## the histories of make test, each in the type of tables that it is not played in there
	@$(BIN)/pytest -q tests/long/test_histories.py

strategies: setup ## every pull strategy, into both types of tables, plain and partitioned: equal after one sweep and apply
	@$(BIN)/pytest -q tests/long/test_strategies.py

foreign: setup ## the tables of other tools that make test has no time for: corrected in one commit, and their own tool goes on
	@$(BIN)/pytest -q tests/long/test_foreign_tables.py

hdfs: setup ## a lake on a real HDFS, in two processes of this machine: the whole story, a kill, and two hosts that race
	@$(BIN)/pytest -q tests/long/test_hdfs.py

streamer: setup ## HoodieStreamer itself, 0.14 on a Spark 3.4 of its own: its tables are corrected, and it goes on
	@$(PYTHON) -m venv $(STREAMER)
	@$(STREAMER)/bin/python $(INSTALL) -r requirements-build.lock
	@$(STREAMER)/bin/python $(INSTALL) -r requirements-streamer.lock
	@$(BIN)/pytest -q tests/long/test_hoodie_streamer.py

flink: setup ## Flink itself: it reads our changes, its tables are asked and corrected (HUDI_FLINK_BUNDLE=JAR), and it goes on
	@$(PYTHON) -m venv $(FLINK)
	@$(FLINK)/bin/python $(INSTALL) -r requirements-build.lock
	@$(FLINK)/bin/python $(INSTALL) -r requirements-flink.lock
	@$(BIN)/pytest -q tests/long/test_flink.py tests/long/test_flink_tables.py

writers: setup ## apply beside a second writer process, either held at each point of its write, on both types of tables
	@$(BIN)/pytest -q tests/long/test_second_writer.py

containers: setup ## PostgreSQL, MySQL 8 and MariaDB in containers: needs Docker, which CI has not, so that this lane has not been run
	@$(BIN)/pytest -q tests/integration/source/test_xmin.py
	@for image in mysql:8.4 mariadb:11.8; do TEST_MARIADB_IMAGE=$$image $(BIN)/pytest -q tests/integration/source/test_mysql.py \
		tests/integration/test_every_kind_mysql.py tests/integration/test_mysql_main_path.py || exit 1; done

examples: setup ## the examples in real Dagster and Airflow, and against the schemas of GitHub workflows and Kubernetes
	@$(BIN)/pytest -q tests/long/test_example_hosts.py

##@ Speed

bench: setup ## speed beside a hand-written join and reladiff, in one run
	@[ -f bench/run.py ] || { echo "bench/run.py is not in this version" >&2; exit 2; }
	@$(BIN)/python bench/run.py

bench-modes: setup ## stream, pushdown and auto beside each other, on loopback and on slow links
	@$(BIN)/python bench/modes.py

bench-nights: setup ## the second night by content proof beside a full sweep, 5,000,000 rows: nothing changed, clustered, scattered
	@$(BIN)/python bench/second_night.py

bench-guest: setup ## what pgbench's users feel while the same server is swept, at full speed and by sweeps that spare it
	@$(BIN)/python bench/guest.py

bench-pull: setup ## a million rows into Hudi beside hand-tuned Spark, and 1,000 changed rows beside a bare upsert
	@$(BIN)/python bench/bench_pull.py

bench-losses: setup ## six kinds of writers for a minute: what each way to pull loses, and that the sweep finds it
	@$(BIN)/python bench/losses.py

bench-index: setup ## 1,000 changed rows into a table with each of Hudi's indexes, beside each other
	@$(BIN)/python bench/bench_index.py

bench-deletes: setup ## deletes found by a full fetch that replaces, and by sweep and apply: seconds, bytes, and what readers of changes get
	@$(BIN)/python bench/bench_deletes.py

bench-changes: setup ## change queries beside Hudi's own incremental and CDC queries
	@$(BIN)/python bench/bench_changes.py

bench-rules: setup ## rules by check beside Great Expectations alone: the same verdicts, counts and keys, and what each costs
	@$(BIN)/python bench/bench_rules.py

bench-shapes: setup ## many partitions, many columns, large values, no rows, much drift: found right, and in how much memory
	@$(BIN)/python bench/shapes.py

##@ Evidence

support: setup ## docs/support.md from a run: SERVERS=FOLDER adds further versions of PostgreSQL and MariaDB
	@CONFORMANCE_SERVERS="$(SERVERS)" SUPPORT_PAGE=docs/support.md $(BIN)/pytest -q tests/conformance/test_engines.py

sample-report: setup ## play the shop anew for reports/sample: a pull, drift, and the night's run with rules/orders.yaml
	@$(BIN)/python -m tests.support.sample reports/sample

sample-page: setup ## render reports/sample/report.html anew from the files beside it, where the report's look or words changed
	@$(BIN)/python -m tests.support.sample reports/sample --page

screenshots: setup ## pictures of every page at 1280 and 390 px, light, dark and printed, in build/screenshots (needs Chromium)
	@$(BIN)/python -m tests.support.screenshots build/screenshots

sbom: setup ## the bill of materials in build/sbom.cdx.json (CycloneDX): packages, jars, and what lies inside them
	@$(BIN)/python -m tests.support.sbom build/sbom.cdx.json

advisories: setup ## the judged list of known faults beside what is installed (docs/advisories.toml); asks no network
	@$(BIN)/python -m tests.support.parts

##@ Upkeep

shape: setup ## figures of the house: sizes, names, and how many modules a sweep and an apply go through
	@$(BIN)/python -m tests.support.shape

venv: ## install the lock files into .venv again; setup does this when they have changed
	@[ -n "$(PYTHON)" ] || { echo "no python3 found: install Python 3.11 or newer, or: make PYTHON=/path/to/python" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(PYTHON) is `$(PYTHON) --version 2>&1`: Python 3.11 or newer is needed, or: make PYTHON=/path/to/python" >&2; exit 2; }
	@echo "installing into $(VENV) (minutes the first time: Spark is a large download)" >&2
	@$(PYTHON) -m venv $(VENV) || { echo "no venv module: on Debian and Ubuntu, apt-get install python3-venv" >&2; exit 2; }
	@$(BIN)/python $(INSTALL) -r requirements-build.lock
	@$(BIN)/python $(INSTALL) -r requirements.lock

lock: setup ## resolve the dependencies anew into the lock files
	@$(COMPILE) --upgrade requirements-build.in -o requirements-build.lock
	@$(COMPILE) --upgrade --extra demo --extra test --extra dev pyproject.toml -o requirements.lock
	@$(COMPILE) --upgrade --resolution lowest-direct --extra test pyproject.toml -o requirements-lowest.lock
	@$(BIN)/python -m tests.support.constraints

man: setup ## the man page docs/hudi-reconcile.1, made of the commands' own help; the wheel installs it
	@$(BIN)/python -m tests.support.man > docs/hudi-reconcile.1

clean: ## remove what setup, tests and demo made
	rm -rf $(VENV) $(LOWEST) $(STREAMER) $(FLINK) .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

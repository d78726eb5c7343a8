# make run    the workbench in the browser       make test          lint, types, and the quick tests, of each page some
# make lint   style                              make test-pages    all other quick tests of pages, many in a browser
# make types  types                              make test-slow     comparisons with slow references, long visits
# make clean  remove environments and caches     make bench         the measurements against other libraries
# make fuzz   an hour of foreign content at every door
# make run CLASS=1   lets a class join from devices in the network
# make load   fifty visitors, and memory         make cluster-test  jobs on two Ray nodes, one of which is lost

PYTHON ?= python3
VENV := .venv
PEER := .venv-peers
PIP := -m pip install --disable-pip-version-check --quiet --no-compile
PYTEST := $(VENV)/bin/python -m pytest
# As many processes as there are cores, up to eight, and half as many again of those that wait for pages. A failed test
# in the browser runs once more, since machines differ in what is late, and is named among the reruns.
CORES := $(shell cores=$$(getconf _NPROCESSORS_ONLN || echo 2); echo $$((cores > 8 ? 8 : cores)))
BESIDE := $(PYTEST) -n $(CORES) --dist loadfile --no-loadscope-reorder
BROWSER := $(PYTEST) -n $(shell expr $(CORES) + $(CORES) / 2) --dist loadfile --reruns 1 -rR

unexport PYTHONDONTWRITEBYTECODE  # else every server, worker and command would compile the project anew

.PHONY: run test test-pages test-slow fuzz load cluster-test lint types bench clean

run: $(VENV)/requirements.stamp
	$(VENV)/bin/python -m engine run $(if $(CLASS),--classroom $(CLASS:1=auto)) \
		$(if $(AGENT),-- --server.enableAgentApi true)

lint: $(VENV)/requirements.stamp
	$(VENV)/bin/python -m ruff check engine app pages whichfluence tests

types: $(VENV)/requirements.stamp
	$(VENV)/bin/python -m mypy --num-workers $(CORES)

test: $(VENV)/requirements.stamp lint types
	$(BESIDE) -m "not (slow or e2e or serial or page and not core)"
	$(BROWSER) -m "e2e and core and not slow" tests/e2e
	$(PYTEST) -n 0 -m "serial and not slow" $$(grep -rl --include='*.py' mark[.]serial tests)  # alone

test-pages: $(VENV)/requirements.stamp
	$(BESIDE) -m "page and not (core or slow or serial)" tests/pages
	$(BROWSER) -m "e2e and not (core or slow)" tests/e2e

test-slow: $(VENV)/requirements.stamp
	$(BESIDE) -m "slow and not e2e"
	$(BROWSER) -m "slow and e2e" tests/e2e

fuzz: $(VENV)/requirements.stamp
	WHICHFLUENCE_FUZZ_SECONDS=125 $(PYTEST) -n 0 tests/fuzz/test_doors.py tests/fuzz/test_addresses.py

cluster-test: $(VENV)/requirements.stamp
	$(PYTEST) -n 0 -s tests/cluster -rs  # requirements-cluster.txt in $(VENV), else it is skipped

load: $(VENV)/requirements.stamp
	$(PYTEST) tests/benchmarks/test_load.py -s --override-ini addopts="" --timeout 7200

bench: $(VENV)/bench.stamp $(PEER)/requirements.stamp
	$(PYTEST) tests/benchmarks -s --override-ini addopts="" --ignore tests/benchmarks/test_load.py

clean:
	rm -rf $(VENV) $(PEER) .pytest_cache .ruff_cache .mypy_cache .hypothesis .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# An environment is filled again only when its requirements changed. Python compiles what it imports; pip would compile
# all of torch and transformers, of which a quarter is imported.
$(VENV)/requirements.stamp: requirements.txt
	$(call environment,$(VENV))
	$(VENV)/bin/python $(PIP) -r requirements.txt
	touch $@

$(VENV)/bench.stamp: requirements-bench.txt $(VENV)/requirements.stamp
	$(VENV)/bin/python $(PIP) -r requirements-bench.txt
	touch $@

$(PEER)/requirements.stamp: tests/benchmarks/requirements-peers.txt
	$(call environment,$(PEER))
	$(PEER)/bin/python $(PIP) -r $<
	touch $@

define environment
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'Python 3.11 or newer is needed; name one with: make PYTHON=python3.11' >&2; exit 2; }
	test -x $(1)/bin/pip || $(PYTHON) -m venv $(1)
endef

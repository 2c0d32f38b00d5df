# Everything a newcomer needs: `make serve`, `make test`. Needs Python 3.11 or newer; installs the rest into .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help install serve test test-uncounted test-faults lint types contracts schema generate lock secrets image-check image-try \
  bench clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

$(STAMP): requirements.lock pyproject.toml .ci/venv
	PYTHON="$(PYTHON)" .ci/venv "$(VENV)"
	@touch $@

install: $(STAMP) ## install the pinned requirements and the `tic` command into .venv

serve: $(STAMP) ## start the server (on an embedded PostgreSQL unless DATABASE_URL is set)
	$(BIN)/tic serve

# Counting lines makes the rules four times as slow. They are counted by the domain's own tests, without those that play or
# search through generated games, or run other programs: the floor stands without them.
OUTSIDE := tests/api tests/docker tests/projections tests/servers tests/docs tests/faults/test_checker.py tests/test_readme.py
GENERATED := $(wildcard $(patsubst %,tests/domain/*/test_%.py,properties secrecy hints must_lay counts counting legality) \
  $(patsubst %,tests/domain/test_%.py,archive awaits entropy_games forgeries hostile_records merkle_oracles results) \
  tests/domain/tickle/test_scoring.py)
UNCOUNTED := $(OUTSIDE) $(GENERATED)

test: $(STAMP) ## run the tests, with the floor of coverage
	$(BIN)/python -m pytest -n 2 --dist worksteal --cov --cov-report= \
	  --ignore=tests/faults $(foreach path,$(UNCOUNTED),--ignore=$(path))
	$(BIN)/python -m coverage report --include='domain/*' --fail-under=95
	$(BIN)/python -m pytest -n 2 --dist worksteal $(UNCOUNTED)

# Of the faults only those tests that need none to be made: they are seconds, the others minutes.
FAULTS := $(filter-out tests/faults/test_checker.py,$(wildcard tests/faults/test_*.py))

# What searches through generated cases, or looks at files and programs that are not Python, finds the same anywhere.
SEARCHING := $(GENERATED) tests/api/test_fuzz.py tests/docker tests/docs

test-uncounted: $(STAMP) ## run the tests without counting lines, as another interpreter does that need not search once more
	$(BIN)/python -m pytest -n 2 --dist worksteal $(foreach path,$(FAULTS) $(SEARCHING),--ignore=$(path))

test-faults: $(STAMP) ## kill, cut off and fill up what the server stands on, and check what it had promised (minutes)
	$(BIN)/python -m pytest -n 2 --dist worksteal tests/faults/test_follower_killed.py
	$(BIN)/python -m pytest -n 0 tests/faults --ignore=tests/faults/test_follower_killed.py

lint: $(STAMP) ## ruff: style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP) ## mypy, strict
	$(BIN)/mypy

contracts: $(STAMP) ## import-linter: imports go one way
	$(BIN)/lint-imports

generate: $(STAMP) ## write schema.graphql and docs/events.schema.json anew
	$(BIN)/tic schema --output schema.graphql
	$(BIN)/tic events --output docs/events.schema.json

schema: $(STAMP) ## compare schema.graphql and docs/events.schema.json with the program
	@$(BIN)/tic schema | diff -u schema.graphql - || { echo "schema.graphql is stale: make generate" >&2; exit 1; }
	@$(BIN)/tic events | diff -u docs/events.schema.json - || { echo "docs/events.schema.json is stale: make generate" >&2; exit 1; }
	@echo "schema.graphql and docs/events.schema.json are what the program says"

bench: $(STAMP) ## run the benchmarks (minutes; print ratios)
	$(BIN)/python -m benchmarks

# Addresses stay out of them, and what an image is made of is pinned as everything else is.
COMPILE := uv pip compile --universal --python-version 3.11 --generate-hashes \
  --no-header --no-emit-index-url --no-emit-find-links --no-annotate --quiet

lock: ## compile requirements.lock, and those of the image, anew (needs uv; writes no addresses)
	$(COMPILE) pyproject.toml --extra embedded --extra telemetry --group dev --output-file requirements.lock
	$(COMPILE) pyproject.toml --extra telemetry --constraint requirements.lock --output-file docker/requirements.lock
	$(COMPILE) --group build --constraint requirements.lock --output-file docker/build.lock

secrets: $(STAMP) ## make the secrets of docker/compose.yaml, each once: make secrets NAME=tic.example/log
	@TIC="$(abspath $(BIN))/tic" docker/secrets.sh $(NAME)

image-check: $(STAMP) ## what can be said of the image without building it: hadolint, the schema of compose, shellcheck
	$(BIN)/hadolint docker/Dockerfile docker/standin/Containerfile
	$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec docker/compose.yaml
	@if [ -x $(BIN)/shellcheck ]; then $(BIN)/shellcheck docker/*.sh docker/*/*.sh; else echo "no shellcheck for this machine"; fi

image-try: $(STAMP) ## build the image, play on it, stop it (as root, with podman; see docs/operations.md)
	PYTHON="$(abspath $(BIN))/python" docker/try.sh

clean: ## remove what the targets made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis

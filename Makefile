# Every task of this repository: make, or make TASK.
.DEFAULT_GOAL := help
.PHONY: help install serve test quick lint types page format check wheel house

help:     ## what there is
	@grep -hE '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*##/	/'

install:  ## everything for development, into the current environment
	pip install -r requirements-dev.txt

serve:    ## the page and the API on http://127.0.0.1:8000
	python app.py

test:     ## all tests
	python -m pytest -n auto --dist loadfile

quick:    ## without the slow ones
	python -m pytest -n auto --dist loadfile -m "not slow"

lint:     ## ruff, without changing anything
	ruff check .
	ruff format --check .

types:    ## mypy
	mypy

page:     ## lint and types of the page's scripts; needs Node and npm on the path
	npm ci --silent --no-audit --no-fund
	npm run --silent check

format:   ## ruff's format and its safe mends
	ruff check --fix .
	ruff format .

check: lint types test  ## what CI runs, but for the page's scripts

wheel:    ## dist/report_chat-*.whl
	pip wheel --no-deps --wheel-dir dist .

house:    ## files, lines, imports and the path of one question
	python -m benchmarks house

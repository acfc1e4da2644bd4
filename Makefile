# Short names for what is run often. All but `test` expect the development tools:
#   pip install -e '.[all]' --group dev
.PHONY: check lint format types imports test coverage build
.DEFAULT_GOAL := check

check: lint types imports
	python -m pytest -n logical --dist loadfile

lint:
	ruff check .
	ruff format --check .

format:
	ruff check --fix .
	ruff format .

types:
	mypy

imports:
	lint-imports

test:
	scripts/test

coverage:
	python -m pytest -n logical --dist loadfile --cov --cov-report=term --cov-report=html

build:
	scripts/check-wheel

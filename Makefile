# Every command there is. `make serve` and `make test` need nothing but Python 3.11+ and a C compiler.

PYTHON ?= python3
MODEL  ?=
PORT   ?= 8000
HOST   ?= 127.0.0.1
ARGS   ?=

BIN := .venv/bin
SMALL_MODEL := models/smollm2-135m

.PHONY: help serve test test-py test-c test-slow build model check format clean

help:
	@echo "make serve [MODEL=DIR] [PORT=N]   set up, prepare the small model unless MODEL is given, serve"
	@echo "make test                         set up and run all tests (Python, then C)"
	@echo "make test-slow                    200 requests against a real server, counted"
	@echo "make build                        (re)build the C engine into .venv"
	@echo "make check                        format, lint, types, import layers"
	@echo "make clean                        remove what set-up made, models included"

serve:
	@$(PYTHON) scripts/prepare.py serve $(if $(MODEL),--no-model)
	@exec $(BIN)/strictserve serve --model "$(or $(MODEL),$(SMALL_MODEL))" --host $(HOST) --port $(PORT) $(ARGS)

test:
	@$(PYTHON) scripts/prepare.py test
	@$(MAKE) --no-print-directory test-py test-c

test-py:
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadgroup $(ARGS)

test-c:
	@if [ -f scripts/test_c.sh ]; then PATH="$(CURDIR)/$(BIN):$$PATH" bash scripts/test_c.sh; fi

test-slow:
	@$(PYTHON) scripts/prepare.py test
	$(BIN)/python -m tests.vllm.long_run --model "$(or $(MODEL),$(SMALL_MODEL))" $(ARGS)

build:
	@$(PYTHON) scripts/prepare.py serve --no-model

model:
	@$(PYTHON) scripts/prepare.py serve

check:
	@$(PYTHON) scripts/prepare.py test --no-model
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format:
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv models build

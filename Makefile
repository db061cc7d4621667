# Type `make` for the list. Every target that runs Python first sees that .venv is in order: the first
# time that installs (a minute, with a network), afterwards it takes a moment and needs no network.
#
#   PYTHON=python3.12   the Python that .venv is made with (any from 3.11 on)
#   QUICK=1             smaller runs of the labs, figures and benchmarks
#   CH=4                the chapter of `make step`
#   MINUTES=20          how long `make soak` looks
#   EXTRAS="cluster"    extras of setup.cfg that `make test` installs, and whose tests must then run

PYTHON ?=
QUICK ?=
CH ?=
MINUTES ?= 20
EXTRAS ?=

VENV := $(if $(filter Windows_NT,$(OS)),.venv/Scripts/python.exe,.venv/bin/python)
QUICKLY := $(if $(filter-out 0,$(QUICK)),--quick)

# The package runs from this folder and is not installed, so the folder may be moved.
export PYTHONPATH := $(CURDIR)

.DEFAULT_GOAL := help
.PHONY: help setup lessons labs step test gradcheck soak mutants bench figures notebooks book lint clean

help:  ## this list
	@echo "scratch_embed: how embeddings work, computed by hand and checked"
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

lessons: setup  ## run every lesson, lab and page of claims, a line each
	@$(VENV) -m lessons all

labs: setup  ## run every experiment in full size (QUICK=1: a few seconds each)
	@$(VENV) -m lessons lab all $(QUICKLY)

step: setup  ## walk through one chapter cell by cell, as in: make step CH=4
	@$(VENV) -m lessons "$(CH)" --step $(QUICKLY)

test: setup  ## run the tests, on all cores (EXTRAS="cluster peers": with these libraries, too)
	@$(if $(EXTRAS),$(VENV) .ci/setup_venv.py $(EXTRAS))
	@TESTS_WITH="$(EXTRAS)" $(VENV) -m pytest -n auto --dist loadfile

gradcheck: setup  ## compare every backward with finite differences
	@$(VENV) -m scratch_embed.gradcheck

soak: setup  ## try to break it for MINUTES=20: chance examples, threads, kills, damage
	@$(VENV) -m tests.soak --minutes $(MINUTES)

mutants: setup  ## put small mistakes into the core and see whether a test finds each
	@$(VENV) -m tests.mutants

bench: setup  ## measure speed against the machine and other libraries (QUICK=1: a minute)
	@$(VENV) -m tests.benchmarks $(QUICKLY)

figures: setup  ## draw every figure of the lessons again, into figures/
	@$(VENV) -m lessons figures $(QUICKLY)
	@$(VENV) -m lessons play there_and_back --gif figures/there_and_back.gif

notebooks: setup  ## every lesson and lab as a notebook with its output, in build/notebooks
	@$(VENV) -m scratch_embed.book notebooks $(QUICKLY)

book: setup  ## the course as a web book, in build/book (QUICK=1: labs in their quick size)
	@$(VENV) .ci/setup_venv.py book
	@$(VENV) -m scratch_embed.book html $(QUICKLY)

lint: setup  ## look for mistakes with ruff
	@$(VENV) -m ruff check .

# What the targets above, .ci and pip make below build/. Nothing else there is touched.
BUILT := book book-source pages notebooks figures labs lowest benchmarks.json benchmarks.png lib bdist.*

clean:  ## delete caches, and in build/ book, pages, notebooks, figures, labs (all else stays there)
	@for part in $(addprefix build/,$(BUILT)); do \
	    test -e "$$part" || continue; edited=; \
	    yours=$$(find -H "$$part" \( -name '*.npz' -o -name results.json \)); \
	    if [ "$$part" = build/notebooks ]; then \
	        yours=$$(find -H "$$part" -type f ! -name '*.ipynb'); \
	    fi; \
	    if [ -n "$$(find -H "$$part" -name '*.ipynb')" ]; then \
	        edited=$$($(VENV) -m scratch_embed.book edited 2>/dev/null || echo "or nobody can tell"); \
	    fi; \
	    if [ -n "$$edited" ]; then \
	        echo "$$part is kept: it holds notebooks that have been edited:"; echo "$$edited"; \
	    elif [ -n "$$yours" ]; then \
	        echo "$$part is kept: it holds something that was not built:"; echo "$$yours"; \
	    else rm -rf "$$part"; fi; done; rmdir build 2>/dev/null || true
	@for part in build/*; do case " $(addprefix build/,$(BUILT)) " in *" $$part "*) ;; \
	    *) test ! -e "$$part" || echo "$$part is kept: a training, or something of yours";; \
	    esac; done
	@find . \( -name .venv -o -name .git \) -prune -o -type d -name __pycache__ -exec rm -rf {} +
	@rm -rf .pytest_cache .ruff_cache dist *.egg-info

# The first of these that is Python 3.11 or newer looks after .venv: the chosen one, or else
# the one that .venv already holds, or else what the machine has.
PYTHONS := $(if $(PYTHON),"$(PYTHON)",$(VENV) python3 python3.14 python3.13 python3.12 python3.11 \
	python)

setup:  ## prepare .venv and stop there (the other targets do this themselves)
	@for python in $(PYTHONS); do \
	    if "$$python" -c "import sys; sys.exit(sys.version_info < (3, 11))" 2>/dev/null; then \
	        exec "$$python" .ci/setup_venv.py; \
	    fi; \
	done; \
	echo "set-up: scratch_embed needs Python 3.11 or newer, and" \
	    "$(if $(PYTHON),$(PYTHON) is not,none was found): install one from python.org," \
	    "or name it, as in: make lessons PYTHON=/path/to/python3.12" >&2; \
	exit 1

ifneq ($(filter step,$(MAKECMDGOALS)),)
ifeq ($(CH),)
$(error make step needs a chapter, as in: make step CH=4)
endif
endif

# `make help` lists the commands.

SWIFT ?= swift
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
HEADER := $(firstword $(wildcard /usr/include/lmdb.h /usr/local/include/lmdb.h))

.PHONY: help setup demo test lint bench bench-quick format

help: ## Lists the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: ## Installs liblmdb-dev when it is missing
ifeq ($(HEADER),)
	$(SUDO) apt-get update
	$(SUDO) apt-get install -y liblmdb-dev
endif

demo: setup ## Builds and runs the example: a catalogue of installed packages
	$(SWIFT) run --package-path Examples catalogue $(ARGS)

test: setup ## Builds everything and runs all tests
	STET_FAULTS=1 $(SWIFT) build --build-tests
	STET_FAULTS=1 $(SWIFT) test --skip-build --disable-xctest

lint: ## Checks format, documentation rules and comments
	$(SWIFT) format lint --strict --recursive Package.swift Sources Tests Examples Benchmarks

format: ## Formats the sources
	$(SWIFT) format format --in-place --recursive Package.swift Sources Tests Examples Benchmarks

bench: setup ## Measures Stet beside bare LMDB in C, in turn (release build)
	$(SWIFT) run -c release --package-path Benchmarks slice $(ARGS)

bench-quick: setup ## The same at a small size
	$(SWIFT) run -c release --package-path Benchmarks slice --quick $(ARGS)

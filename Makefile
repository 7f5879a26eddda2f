# `make help` lists the commands.

SWIFT ?= swift
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
HEADER := $(firstword $(wildcard /usr/include/lmdb.h /usr/local/include/lmdb.h))

.PHONY: help setup demo test lint bench bench-quick format \
  setup-campaigns campaign-build campaign campaigns-small

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

CAMPAIGN := .build-campaign/release/stet-campaign
BUILD_CAMPAIGN := STET_FAULTS=1 $(SWIFT) build -c release --scratch-path .build-campaign

setup-campaigns: setup ## Installs strace and e2fsprogs when they are missing
	@{ command -v strace && ls /usr/sbin/mkfs.ext4; } >/dev/null 2>&1 || \
	  { $(SUDO) apt-get update && $(SUDO) apt-get install -y strace e2fsprogs; }

campaign-build: setup-campaigns
	$(BUILD_CAMPAIGN) --product stet-campaign
	$(BUILD_CAMPAIGN) --product StetRecorder

campaign: campaign-build ## Runs one fault campaign: NAME=kills SIZE=200 SEED=1 ARGS=…
	$(CAMPAIGN) $(NAME) --size $(SIZE) --seed $(or $(SEED),1) $(ARGS)

# What CI runs: a dose of each campaign, and each planted bug, which must be found.
SMALL_DOSES := \
  "kills --size 200" "system-calls --size 36" "power-cuts --size 5000" "shutdowns --size 10" \
  "damage --size 300" \
  "power-cuts --size 500 --planted unsyncedCommit" \
  "power-cuts --size 500 --planted acknowledgedBeforeCommit" \
  "power-cuts --size 500 --planted reverseReferenceNotWritten" \
  "system-calls --size 100 --planted headOutsideTransaction" \
  "damage --size 300 --planted recordChecksumNotVerified"

campaigns-small: campaign-build ## Runs a small dose of each campaign, and of each planted bug
	@for dose in $(SMALL_DOSES); do \
	  $(CAMPAIGN) $$dose || [ $$? = 69 ] || exit 1; \
	done

lint: ## Checks format, documentation rules and comments
	$(SWIFT) format lint --strict --recursive Package.swift Sources Tests Examples Benchmarks

format: ## Formats the sources
	$(SWIFT) format format --in-place --recursive Package.swift Sources Tests Examples Benchmarks

bench: setup ## Measures Stet beside bare LMDB in C, in turn (release build)
	$(SWIFT) run -c release --package-path Benchmarks slice $(ARGS)

bench-quick: setup ## The same at a small size
	$(SWIFT) run -c release --package-path Benchmarks slice --quick $(ARGS)

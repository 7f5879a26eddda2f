# `make help` lists the commands.

SWIFT ?= swift
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
HEADER := $(firstword $(wildcard /usr/include/lmdb.h /usr/local/include/lmdb.h))
STEMMER := $(firstword $(wildcard /usr/include/libstemmer.h /usr/local/include/libstemmer.h))

.PHONY: help setup setup-service setup-postgres service service-load service-test browse demo demo-test test \
  test-optimised test-postgres docs lint fuzz fuzz-keep bench bench-quick format \
  goldens setup-bench setup-campaigns campaign-build setup-counts counts simulate campaign campaigns-small \
  lowest bill-of-materials

help: ## Lists the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: ## Installs liblmdb-dev and libstemmer-dev when they are missing
ifeq ($(and $(HEADER),$(STEMMER)),)
	$(SUDO) apt-get update
	$(SUDO) apt-get install -y liblmdb-dev libstemmer-dev
endif

# The examples are packages of their own; one folder serves them all, so that what they depend on is
# built once. SwiftPM keeps its plan there, and would use that of another package.
SERVICE_BUILD ?= $(CURDIR)/.build-service
FORGET_PLAN = rm -f $(SERVICE_BUILD)/*.yaml
BUILD_SERVICE = $(FORGET_PLAN) && \
  $(SWIFT) build --scratch-path $(SERVICE_BUILD) --package-path

demo: setup ## Builds and runs the example: a catalogue of installed packages
	$(FORGET_PLAN)
	$(SWIFT) run --scratch-path $(SERVICE_BUILD) --package-path Examples catalogue $(ARGS)

demo-test: setup ## Tests the example
	$(FORGET_PLAN)
	$(SWIFT) test --scratch-path $(SERVICE_BUILD) --package-path Examples --disable-xctest

BUILD_TRACKER = $(BUILD_SERVICE) Examples/Tracker
BUILD_BROWSE = $(BUILD_SERVICE) Examples/Browse
SERVICE_FOLDERS = SERVICE_BUILD=$(SERVICE_BUILD)/debug SERVICE_OUTPUT=$(SERVICE_BUILD)/screenshots
SERVICE_STORE := $(SERVICE_BUILD)/example.stet

setup-service: setup ## Installs the browser for the tests of the pages when it is missing
	@command -v chromium >/dev/null || \
	  { $(SUDO) apt-get update && $(SUDO) apt-get install -y chromium; }

service: setup ## Starts the issue tracker at http://127.0.0.1:8080 with example data
	$(BUILD_TRACKER) --product tracker
	@[ -e $(SERVICE_STORE) ] || $(SERVICE_BUILD)/debug/tracker seed --store $(SERVICE_STORE)
	$(SERVICE_BUILD)/debug/tracker --store $(SERVICE_STORE) --backups $(SERVICE_BUILD)/backups

browse: setup ## Shows a store in the browser: STORE=notes.stet ARGS=--write
	$(BUILD_BROWSE) --product stet-browse
	$(SERVICE_BUILD)/debug/stet-browse $(or $(STORE),$(SERVICE_STORE)) $(ARGS)

service-test: setup-service ## Tests the tracker and stet-browse over sockets and in a browser
	$(BUILD_TRACKER) --product tracker
	$(BUILD_BROWSE) --product stet-browse
	$(BUILD_BROWSE) --product stet
	cd Examples/Tracker/Tests && $(SERVICE_FOLDERS) python3 -m unittest
	cd Examples/Browse/Tests && $(SERVICE_FOLDERS) python3 -m unittest
	@echo "screenshots: $(SERVICE_BUILD)/screenshots"

setup-postgres: setup ## Installs PostgreSQL and libpq for the tests of StetPostgres when missing
	@ls /usr/lib/postgresql/*/bin/initdb /usr/include/postgresql/libpq-fe.h >/dev/null 2>&1 || \
	  { $(SUDO) apt-get update && $(SUDO) apt-get install -y postgresql libpq-dev; }

# A program of the package, so that nothing else needs libpq.
MACHINES := $(SERVICE_BUILD)/debug/stet-machines

test-postgres: setup-postgres ## Tests StetPostgres with a PostgreSQL server of its own
	$(BUILD_SERVICE) Packages/StetPostgres --build-tests
	$(SWIFT) test --scratch-path $(SERVICE_BUILD) --package-path Packages/StetPostgres \
	  --skip-build --disable-xctest
	$(MACHINES) --size 5
	$(MACHINES) --size 2 --standby synchronous
	$(MACHINES) --size 2 --standby late
	$(MACHINES) planted

service-load: setup ## Watches and edits an optimised tracker that is killed meanwhile: SECONDS=120
	$(BUILD_TRACKER) -c release --product tracker
	$(BUILD_TRACKER) -c release --product stet
	cd Examples/Tracker/Tests && SERVICE_BUILD=$(SERVICE_BUILD)/release python3 load.py \
	  --seconds $(SECONDS)

test: setup ## Builds everything and runs all tests
	STET_FAULTS=1 $(SWIFT) build --build-tests
	STET_FAULTS=1 $(SWIFT) test --skip-build --disable-xctest
	STET_FAULTS=1 STET_TEST_MACROS=1 $(SWIFT) test --disable-xctest

# One build serves the optimised tests and the campaigns; Package.swift has its flags.
OPTIMISED := STET_FAULTS=1 STET_OPTIMISED=1 $(SWIFT)
OPTIMISED_BUILD ?= .build-optimised
# Messages of the compiler do not depend on it, and the walks need functions that are not inlined.
test-optimised: setup ## Runs the library's tests in an optimised build
	$(OPTIMISED) build --scratch-path $(OPTIMISED_BUILD) --build-tests
	$(OPTIMISED) test --scratch-path $(OPTIMISED_BUILD) --skip-build --disable-xctest \
	  --skip "MessageTests|ArchitectureWalkTests"

# In a package of its own, for Package.resolved lies beside the manifest. A mirror may not have the
# oldest versions: then this says so, and is no failure.
LOWEST := STET_LOWEST=1 $(SWIFT)
lowest: setup ## Builds against the lowest version of each dependency that the manifest allows
	@rm -rf .build-lowest && mkdir .build-lowest && cp Package.swift .build-lowest && \
	  ln -s ../Sources ../Tests .build-lowest
	@if ! $(LOWEST) package --package-path .build-lowest resolve >/dev/null 2>&1; then \
	  echo "lowest: not possible here: a lowest version cannot be fetched"; \
	else \
	  $(LOWEST) build --package-path .build-lowest --product stet && \
	  $(LOWEST) build --package-path .build-lowest --target StetServiceLifecycle; \
	fi

bill-of-materials: ## Writes what the package was built from, for the notes of a release
	@.ci/bill-of-materials

# What a plug-in would do, without the dependency. The build is that of `make test`.
SYMBOLS := .build/symbol-graphs
MODULES := $(CURDIR)/.build/debug/Modules
TRIPLE = $(shell $(SWIFT) -print-target-info | sed -n 's/.*"triple": "\(.*\)",/\1/p')

LIBRARIES := Stet StetTesting StetServiceLifecycle StetStemming
INTERFACE := docs/Interface.txt

.PHONY: symbols interface
symbols: setup
	for library in $(LIBRARIES); do \
	  STET_FAULTS=1 $(SWIFT) build --target $$library || exit 1; \
	done
	rm -rf $(SYMBOLS) && mkdir -p $(SYMBOLS)
	for library in $(LIBRARIES); do \
	  mkdir $(SYMBOLS)/$$library && \
	  $(SWIFT) symbolgraph-extract -module-name $$library -I $(MODULES) -target $(TRIPLE) \
	    -experimental-allowed-reexported-modules=StetStore \
	    -Xcc -fmodule-map-file=$(CURDIR)/Sources/CLMDB/module.modulemap \
	    -Xcc -fmodule-map-file=$(CURDIR)/Sources/CStemmer/module.modulemap \
	    -minimum-access-level public -skip-synthesized-members \
	    -output-dir $(SYMBOLS)/$$library || exit 1; \
	done

interface: symbols ## Writes the public interface to docs/Interface.txt
	.ci/interface $(SYMBOLS) > $(INTERFACE)

docs: symbols ## Makes .build/documentation; a broken link or another interface is an error
	.ci/interface $(SYMBOLS) $(INTERFACE)
	docc convert Sources/Stet/Stet.docc --additional-symbol-graph-dir $(SYMBOLS)/Stet \
	  --output-path .build/documentation --fallback-display-name Stet \
	  --fallback-bundle-identifier Stet --warnings-as-errors

.PHONY: mutants
mutants: setup ## Applies each bug of Tests/Mutants; what it names must fail: ONLY="A1 B2", COUNT=3
	@Tests/Mutants/run

CONCURRENT := Savers|Flight|StoreEdit|Writer|Several|Cancellation|Close|Outcome|ObjectID|Environment|Feed|Observ|Merge

test-thread: setup ## Runs the concurrent tests with thread sanitizer
	STET_FAULTS=1 $(SWIFT) build --build-tests --sanitize=thread --scratch-path .build-thread
	STET_FAULTS=1 STET_MAP_BYTES=1073741824 $(SWIFT) test --skip-build --disable-xctest \
	  --sanitize=thread --scratch-path .build-thread --filter "$(CONCURRENT)" \
	  --skip aForkedChild

test-address: setup ## Lets 1,000,000 objects come and go with address and leak sanitizer
	STET_FAULTS=1 $(SWIFT) build --build-tests --sanitize=address --scratch-path .build-address
	STET_FAULTS=1 STET_OBJECTS=$(or $(OBJECTS),1000000) $(SWIFT) test --skip-build \
	  --disable-xctest --sanitize=address --scratch-path .build-address --filter LifetimeTests

PROGRAMS := $(OPTIMISED_BUILD)/debug
CAMPAIGN := $(PROGRAMS)/stet-campaign
BUILD_CAMPAIGN := $(OPTIMISED) build --scratch-path $(OPTIMISED_BUILD)

setup-campaigns: setup ## Installs strace and e2fsprogs when they are missing
	@{ command -v strace && ls /usr/sbin/mkfs.ext4; } >/dev/null 2>&1 || \
	  { $(SUDO) apt-get update && $(SUDO) apt-get install -y strace e2fsprogs; }

campaign-build: setup-campaigns
	$(BUILD_CAMPAIGN) --product stet-campaign
	$(BUILD_CAMPAIGN) --product StetRecorder

campaign: ## Runs one campaign: NAME=kills SIZE=200 SEED=1 ARGS=…
ifeq ($(NAME),contract)
	$(BUILD_CAMPAIGN) --product stet-contract
	$(PROGRAMS)/stet-contract $(or $(MODE),all) $(or $(SIZE),1000000) $(or $(SEED),1)
else ifeq ($(NAME),machines)
	$(MAKE) setup-postgres
	$(BUILD_SERVICE) Packages/StetPostgres --product stet-machines
	$(MACHINES) --size $(SIZE) --seed $(or $(SEED),1) $(ARGS)
else ifeq ($(NAME),live-queries)
	$(BUILD_CAMPAIGN) --product stet-live
	$(PROGRAMS)/stet-live $(or $(SIZE),1000000) $(or $(SEED),1) $(ARGS)
else
	$(MAKE) campaign-build
	$(CAMPAIGN) $(NAME) --size $(SIZE) --seed $(or $(SEED),1) $(ARGS)
endif

# With a log beside each store, and a checkpoint every few commits.
LOGGED := STET_DURABILITY=logged STET_CHECKPOINT=8 STET_WAITS=1
RELAXED := STET_DURABILITY=relaxed STET_CHECKPOINT=8 STET_WAITS=1
LOGGED_DOSES := "kills --size 60" "system-calls --size 60" "power-cuts --size 1000" \
  "failures --size 60" "shutdowns --size 4" "full --size 4"

# What CI runs: a dose of each campaign.
SMALL_DOSES := \
  "kills --size 200" "system-calls --size 36" "power-cuts --size 2000" "shutdowns --size 10" \
  "damage --size 300" "failures --size 300" "full --size 12" "simulate --size 2000" \
  "queries --size 20000" \
  "simulate-retention --size 100" "trims --size 50000" \
  "namespaces --size 20" "moved-files --size 28" "forks --size 40" "clocks --size 30" \
  "privacy --size 60" "subscriptions --size 100"

setup-counts: setup
	@command -v valgrind >/dev/null 2>&1 || \
	  { $(SUDO) apt-get update && $(SUDO) apt-get install -y valgrind; }

counts: setup-counts ## Compares instructions and sizes with Benchmarks/counts.json: RENEW=1 ARGS=…
	$(OPTIMISED) build --scratch-path $(OPTIMISED_BUILD) --product stet-counts
	@# valgrind cannot read the debug information.
	strip --strip-debug -o $(PROGRAMS)/stet-counts-stripped $(PROGRAMS)/stet-counts
	$(PROGRAMS)/stet-counts-stripped Benchmarks/counts.json $(if $(RENEW),--renew) $(ARGS)

simulate: campaign-build ## Compares undo histories with a reference model: SEEDS=2000 OPS=100 SEED=1
	$(CAMPAIGN) simulate --size $(or $(SEEDS),2000) --operations $(or $(OPS),100) \
	  --seed $(or $(SEED),1) $(ARGS)

campaigns-small: campaign-build ## Runs a small dose of each campaign
	$(BUILD_CAMPAIGN) --product stet-contract
	@# It searches, but not for stems, and must not load their library.
	! ldd $(PROGRAMS)/stet-contract | grep libstemmer
	$(PROGRAMS)/stet-contract all 50000 1
	$(BUILD_CAMPAIGN) --product stet-live
	$(PROGRAMS)/stet-live 20000 1
	@for dose in $(SMALL_DOSES); do \
	  $(CAMPAIGN) $$dose || [ $$? = 69 ] || exit 1; \
	done
	@for dose in $(LOGGED_DOSES); do \
	  $(LOGGED) $(CAMPAIGN) $$dose || [ $$? = 69 ] || exit 1; \
	done
	$(RELAXED) $(CAMPAIGN) power-cuts --size 500
	$(RELAXED) $(CAMPAIGN) kills --size 40
	STET_DURABILITY=none STET_WAITS=1 $(CAMPAIGN) power-cuts --size 500

.PHONY: models
models: ## Searches the models of the protocols for a way to lose a commit (some minutes)
	@command -v spin >/dev/null || { $(SUDO) apt-get update && $(SUDO) apt-get install -y spin; }
	Tests/Protocols/run

goldens: setup ## Makes the golden stores anew, after a change of the format
	STET_FAULTS=1 $(SWIFT) build --build-tests
	STET_FAULTS=1 STET_WRITE_GOLDENS=$(CURDIR)/Tests/StetStoreTests/Resources $(SWIFT) test \
	  --skip-build --disable-xctest --filter "[gG]olden"

# The rules for sources are tests that need none of them built; in a package of its own, for SwiftPM
# would remove Package.resolved.
RULES := .build-rules/package
lint: ## Checks format, the rules for sources and comments, and that the mutants apply
	$(SWIFT) format lint --strict --recursive Package.swift Sources Tests Examples Benchmarks Packages
	@mkdir -p $(RULES) && cp Package.swift $(RULES) && ln -sfn ../../Tests $(RULES)/Tests
	STET_SOURCES=1 $(SWIFT) test --package-path $(RULES) --disable-xctest
	@Tests/Mutants/run --check

format: ## Formats the sources
	$(SWIFT) format format --in-place --recursive Package.swift Sources Tests Examples Benchmarks Packages

# What `make fuzz` runs, and how long; its corpus grows outside of the repository.
NAME ?= record
SECONDS ?= 60
FUZZ = .build-fuzz/fuzz/$(NAME)
CORPUS = Tests/StetFuzz/Corpus/$(NAME)
SCRATCH = $(CURDIR)/.build-fuzz/scratch
FUZZER = rm -rf $(SCRATCH) && mkdir -p $(FUZZ) $(SCRATCH) && SWIFT_BACKTRACE=enable=no \
	STET_FUZZ=$(NAME) TMPDIR=$(SCRATCH) .build-fuzz/release/stet-fuzz
# The store's thread frees what it had after an input has ended, which looks like a leak to libFuzzer
# and costs a search for one each time.
LEAKS = $(if $(filter store,$(NAME)),-detect_leaks=0)

.PHONY: fuzz-build
fuzz-build: setup
	STET_FUZZ=1 STET_FAULTS=1 $(SWIFT) build -c release --scratch-path .build-fuzz \
		--product stet-fuzz

fuzz: fuzz-build ## Looks for bytes that a decoder mistakes (NAME=record SECONDS=60)
	$(FUZZER) $(FUZZ) $(CORPUS) -max_total_time=$(SECONDS) -max_len=4096 -len_control=0 -timeout=5 \
		-malloc_limit_mb=4 -rss_limit_mb=2048 -print_final_stats=1 $(LEAKS) \
		-artifact_prefix=.build-fuzz/fuzz/$(NAME)-

fuzz-keep: fuzz-build ## Adds to the repository's corpus what `make fuzz` has reached anew
	$(FUZZER) -merge=1 $(CORPUS) $(FUZZ)

setup-bench: setup ## Installs libsqlite3-dev, which the peer GRDB needs, when it is missing
	@[ -e /usr/include/sqlite3.h ] || \
	  { $(SUDO) apt-get update && $(SUDO) apt-get install -y libsqlite3-dev; }

BENCH := $(SWIFT) run -c release --package-path Benchmarks stet-bench

bench: setup-bench ## Measures Stet beside bare LMDB in C and GRDB, in turn (release build)
	$(BENCH) $(ARGS)

bench-quick: setup-bench ## The same at a small size
	$(BENCH) --quick $(ARGS)

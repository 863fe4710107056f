# Tests, fuzzing, benchmarks, lint. TESTS='PATTERN...' limits check, unit and program to
# files with these names (% matches any text): make unit TESTS='test_buf test_net%'.

.PHONY: check check-npm check-qemu unit program golden fuzz fuzzers bench objects compile-commands lint

# The tests themselves, which compile in a fifth of the time; what they call is optimized as ever.
$(BUILD)/obj/tests/unit/%: ROOM_CFLAGS = -O0
# Under ThreadSanitizer those of directories whose code starts threads: the others cannot race.
THREADED := $(addprefix tests/unit/,base slog store supervisor)
UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(call sources_below,$(if $(filter thread,$(SAN)),$(THREADED),tests/unit)))
# Tests in which no sanitized program runs, or none for its own sake: of scripts (lint, run_fuzzers, run_tests,
# setup); of gaspipe-meter and programs of gaspipe-cc (meter*); of libgascount.so in QEMU (counter); of the
# ordinary worker next to xsnap-worker (xsnap).
NEVER_SANITIZED := $(patsubst %,tests/program/%.bats,counter lint meter meter_musl meter_turns \
	run_fuzzers run_tests setup xsnap)
# Threads sync commits and compress snapshots (run_*, store, quarantine), speak to NATS
# (run_stream, fleet*), extend leases (fleet*), read traces (trace_run), read slogfiles (slog*), compute (ping).
# Not run_stopped, run_stream and run_vats: gcc's ThreadSanitizer loses some of the signals that stop its runs.
WITH_THREADS := $(patsubst %,tests/program/%.bats,run_jobs run_workers store quarantine \
	fleet fleet_nats trace_run slog_files slogreport slogreport_summary ping)
LEFT_OUT := $(if $(filter thread,$(SAN)),$(filter-out $(WITH_THREADS),$(wildcard tests/program/*.bats)),$(if $(SAN),$(NEVER_SANITIZED)))
CHOSEN_TESTS := $(filter-out $(LEFT_OUT),$(wildcard tests/program/*.bats))
# PART=K/N: the Kth of N parts of them, and those that the last 5 commits changed.
CHANGED_TESTS := $(if $(PART),$(shell git diff --name-only HEAD~5 -- 'tests/program/*.bats'))
PROGRAM_TESTS := $(if $(PART),$(sort $(filter $(CHANGED_TESTS),$(CHOSEN_TESTS)) $(shell printf '%s\n' $(CHOSEN_TESTS) | \
	awk 'split("$(PART)", part, "/") && NR % part[2] == part[1] % part[2]')),$(CHOSEN_TESTS))
GOLDEN_TESTS := $(if $(filter thread,$(SAN)),,$(if $(wildcard tests/golden/*/cmd),scripts/golden))
narrow = $(if $(TESTS),$(foreach test,$(1),$(if $(filter $(TESTS) $(TESTS:%=test_%),$(basename $(notdir $(test)))),$(test))),$(1))
run_tests = @BUILD=$(BUILD) scripts/run-tests

# Links a test, a fuzzer or a benchmark with the archives that it depends on, and with $(1). There are hundreds of
# them, which gold links in a third of the time; with clang's sanitizers it warns of their symbols.
TEST_LINKER := $(if $(findstring clang,$(CC)),,$(if $(shell command -v ld.gold),-fuse-ld=gold))
define link_test
@mkdir -p $(@D)
$(call say,link,$@)
$(Q)$(CC) $(GASPIPE_CFLAGS) $(CFLAGS) $(TEST_LINKER) $(LDFLAGS) $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group \
	$(PACKAGE_LIBS) -lZydis -lnats -lsodium -lsecp256k1 $(1) -lm -ldl -lpthread -o $@
endef

# A unit test is linked with its directory of the product and what that calls, so that the first test of a
# fresh checkout waits for nothing else.
UNIT_base := base
UNIT_gas := gas base
UNIT_proto := proto base
UNIT_sandbox := sandbox base
UNIT_store := store base
UNIT_kernel := kernel store proto slog base
UNIT_slog := slog base
UNIT_counter := counter sandbox base
UNIT_worker := worker sandbox proto counter base
UNIT_meter := meter/costs base
UNIT_trace := trace counter base
UNIT_supervisor := supervisor trace kernel store counter sandbox proto slog gas base
UNIT_tools := tools slog gas base
define unit_test_rule
$(BUILD)/tests/$(1)/%: $(BUILD)/obj/tests/unit/$(1)/%.o $(call lib,$(UNIT_$(1))) $(if $(filter worker,$(1)),$(XS_ARCHIVE) $(BLST_ARCHIVE))
	$$(call link_test,-lcmocka)
endef
$(foreach directory,$(notdir $(wildcard tests/unit/*)),$(eval $(call unit_test_rule,$(directory))))

# Tests of WebAssembly's specification, and what runs them and NEAR's.
WASM_SPEC := build/wasm-spec/fetched
WASM_RUNNERS := $(addprefix $(BUILD)/tests/,wasm_spec wasm_near wasm_exports)

$(WASM_SPEC): scripts/fetch-wasm-spec
	@scripts/fetch-wasm-spec $(@D)
	@touch $@

# Makes, fills and reads streams of NATS.
NATS_CLIENT := $(BUILD)/tests/nats_client

$(WASM_RUNNERS) $(NATS_CLIENT): $(BUILD)/tests/%: $(BUILD)/obj/tests/program/%.o $(ARCHIVES) $(XS_ARCHIVE) $(BLST_ARCHIVE)
	$(call link_test)

# The workers for which `make conformance` runs tc39/test262.
BARE_WORKERS := $(BUILD)/tests/bare_workers

$(BARE_WORKERS): $(BUILD)/tests/%: $(BUILD)/obj/tests/conformance/%.o $(ARCHIVES) $(XS_ARCHIVE) $(BLST_ARCHIVE)
	$(call link_test)

# Keep objects that are only intermediate files of a test.
.SECONDARY:

# Program tests take longest, so they come first when no times are known yet.
check_tests = $(program_tests) $(UNIT_TESTS)
unit_tests = $(UNIT_TESTS)
program_tests = $(PROGRAM_TESTS) $(GOLDEN_TESTS)
# A change most often breaks the examples and the commands in documents.
check-quick_tests = $(UNIT_TESTS) $(addprefix tests/program/,exchange.bats readme.bats) $(GOLDEN_TESTS)

.PHONY: built check-built check-quick check-quick-built unit-built program-built
check-built: unit-built program-built
unit-built: $(call narrow,$(UNIT_TESTS))
program-built: all $(XSNAP_WORKER) $(if $(filter no,$(PROFILE_WORKERS)),$(filter-out metered-profile,$(METER_IN_TESTS)),$(METER_IN_TESTS)) $(VAT_BUNDLES) $(WASM_SPEC) $(WASM_RUNNERS) $(NATS_CLIENT) $(BARE_WORKERS) suites
check-quick-built: unit-built all $(VAT_BUNDLES) suites
check-built check-quick-built unit-built program-built:
	@:

# All that make check runs, without running it: .ci/run builds the sanitized one next to the tests of the
# ordinary one. It takes no lock, for `make check` to find its own build done meanwhile.
built: check-built

# Only one of several makes in the same directory builds at a time, so that they do not write
# the same files.
check check-quick unit program:
	@mkdir -p build
	@flock -o build/make.lock $(MAKE) --no-print-directory $@-built
	$(if $(LEFT_OUT),@echo 'left to the ordinary build ($(if $(filter thread,$(SAN)),their threads are tested there only,they are not about what is sanitized)): $(basename $(notdir $(LEFT_OUT)))')
	$(if $(PART),@echo 'not in part $(PART): $(basename $(notdir $(filter-out $(PROGRAM_TESTS),$(CHOSEN_TESTS))))')
	$(if $(strip $(call narrow,$($@_tests))),,@echo 'make $@: there is no such test: $(TESTS) (see tests/unit and tests/program)' >&2; exit 1)
	$(run_tests) $(call narrow,$($@_tests))

golden: all
	@BUILD=$(BUILD) scripts/golden --update

# Tests with npm's client and SwingSet's own kernel; fetches packages that nothing else
# needs.
check-npm: all $(if $(HAVE_LLVM),metered) $(XSNAP_WORKER) $(NPM_PEERS) $(NPM_CONTRACTS) $(WASM_PEERS) $(VAT_BUNDLES) $(SWINGSET_KERNEL) node $(NODE_KERNEL)
	$(run_tests) $(wildcard tests/npm/*.bats)

# Tests the counter under a newer QEMU, which is fetched and built first.
check-qemu: all qemu
	@scripts/setup --test
	@export PATH="$(CURDIR)/build/qemu/bin:$$PATH"; BUILD=$(BUILD) scripts/run-tests \
		tests/program/counter.bats tests/program/count.bats tests/program/run_faults.bats

# Each kind of failure N times, or for as long as T seconds for all kinds together:
# make campaign N=2000, make campaign N=1000000 T=300 SEED=7 KINDS='calls batches'. With JOBS=2, two
# kinds at a time pass in half of T seconds.
N ?= 100
T ?= 0
JOBS ?= 1
.PHONY: campaign
campaign: all $(VAT_BUNDLES)
	@BUILD=$(BUILD) tests/campaign/all -n $(N) -t $(T) -j $(JOBS) $(if $(SEED),-s $(SEED)) $(KINDS)

# Suites of others, and random programs (tests/conformance/all): make conformance TEST262=DIR N=25000
# M=3000 SEED=7 PATHS=built-ins/Array,language T=60. T: seconds of random programs.
given = $(if $(filter command%,$(origin $(1))),$(2) $($(1)))
.PHONY: conformance
conformance: program-built $(NPM_PEERS) $(NPM_CONTRACTS)
	@BUILD=$(BUILD) tests/conformance/all $(call given,N,-n) $(call given,M,-m) $(call given,SEED,-s) \
		$(call given,PATHS,-p) $(call given,T,-t)

# ---- fuzzing --------------------------------------------------------------------

SECONDS ?= 30
FUZZERS := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))

# The sources that they call, directly or not; the rest would take most of the time to compile. Of the supervisor
# these files and directories: where a fuzzer's link fails, more of them.
FUZZED_SUPERVISOR := $(patsubst %.c,$(BUILD)/obj/%.o,$(call sources_below,$(addprefix supervisor/,process \
	profile replay/source run/delivery_line.c run/delivery_input.c run/line_results.c schedule/log transcript)))
FUZZED := $(foreach room,base gas proto sandbox store kernel slog worker counter,$(BUILD)/lib/$(room).a) $(BUILD)/lib/fuzzed.a

$(BUILD)/lib/fuzzed.a: $(FUZZED_SUPERVISOR)
	@mkdir -p $(@D) && rm -f $@
	$(Q)ar rcs $@ $^

$(BUILD)/fuzz/%: ARCHIVES = $(FUZZED)
$(BUILD)/fuzz/%: $(BUILD)/obj/tests/fuzz/%.o $(FUZZED) $(XS_ARCHIVE) $(BLST_ARCHIVE)
	$(call link_test,-fsanitize=fuzzer)

fuzzers: $(FUZZERS)

# Compiles what they need with clang, with the instrumentation that guides the fuzzers.
fuzz: FUZZ_BUILD := build/fuzz
fuzz:
	@scripts/setup --fuzz
	@$(MAKE) --no-print-directory fuzzers BUILD=$(FUZZ_BUILD) CC=clang \
		SAN=fuzzer-no-link,address,undefined
	@BUILD=$(FUZZ_BUILD) scripts/run-fuzzers $(SECONDS) \
		$(patsubst tests/fuzz/%.c,$(FUZZ_BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))

# ---- benchmarks -------------------------------------------------------------------

# bench/NAME is a script that prints a table; bench/*.c are programs for these scripts.
BENCH ?= $(filter-out %.c %.h %.md %.mjs,$(wildcard bench/*))
# bench/counter and bench/trace compile some of these themselves, in several ways.
BENCH_PROGRAMS := $(patsubst bench/%.c,$(BUILD)/bench/%,$(filter-out %_plugin.c bench/trace_%,$(wildcard bench/*.c)))

$(BUILD)/bench/%: $(BUILD)/obj/bench/%.o $(ARCHIVES) $(XS_ARCHIVE) $(BLST_ARCHIVE)
	$(call link_test)

# One after the other: each needs the machine to itself.
bench: all $(XSNAP_WORKER) $(BENCH_PROGRAMS) $(NPM_PEERS) $(VAT_BUNDLES) $(if $(filter %/swingset,$(BENCH)),$(SWINGSET_KERNEL) $(NODE_KERNEL))
	@set -e; for bench in $(BENCH); do BUILD=$(BUILD) $$bench; done

# ---- lint -------------------------------------------------------------------------

# Compiles every C file without linking.
# tests/program/meter/ is for gaspipe-cc, tests/program/contracts/ for clang --target=wasm32.
ALL_C := $(if $(HAVE_LLVM),$(METER_SOURCES) $(METER_RUNTIME) $(AOT_SOURCES)) \
	$(if $(HAVE_NODE_HEADERS),$(call sources_below,node/addon)) \
	$(call sources_below,$(ROOMS) bench tests/unit tests/fuzz tests/conformance) \
	$(filter-out tests/program/meter/% tests/program/contracts/%,$(call sources_below,tests/program))
objects: $(patsubst %.c,$(BUILD)/obj/%.o,$(ALL_C))

# $(BUILD)/compile_commands.json: how CC compiles each of them, for editors and clang-tidy.
compile-commands: $(patsubst %.c,$(BUILD)/obj/%.json,$(ALL_C)) $(XS_PATCHED) $(FILTERS)
	@cat $(filter %.json,$^) | sed -e '1s/^/[/' -e '$$s/,$$/]/' > $(BUILD)/compile_commands.json

lint:
	@scripts/setup --lint
	@scripts/lint

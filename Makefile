# gaspipe. Newcomers need only `make demo` and `make check`; `make help` lists the rest.

# Use every core by default; -j1 on the command line overrides this.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif

ifneq ($(words $(CURDIR)),1)
$(error the path of this directory contains a blank, which make cannot handle: '$(CURDIR)')
endif

VERSION := $(shell cat VERSION)
# SAN=address,undefined builds and tests everything under those sanitizers.
# SAN=thread builds gaspipe, slogreport and the unit tests under ThreadSanitizer.
SAN ?=
comma := ,
BUILD := build$(if $(SAN),/san-$(subst $(comma),-,$(SAN)))

ifeq ($(origin CC),default)
CC := gcc
endif
WARNINGS := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes
OPTIMIZE ?= $(if $(SAN),-O1 -fno-omit-frame-pointer,-O2)
# Names and lines, in four fifths of the time that -g takes; a debugger shows variables with CFLAGS=-g.
CFLAGS ?= -g1
PACKAGES := libuv jansson sqlite3 libcrypto libzstd libxxhash zlib libisal libdw libelf

# Expanded once, in the first recipe that needs it: before `setup` has run, there may be no
# pkg-config.
PACKAGE_CFLAGS = $(eval PACKAGE_CFLAGS := $(shell pkg-config --cflags $(PACKAGES)))$(PACKAGE_CFLAGS)
PACKAGE_LIBS = $(eval PACKAGE_LIBS := $(shell pkg-config --libs $(PACKAGES)))$(PACKAGE_LIBS)
GASPIPE_CFLAGS = -std=gnu17 -I. $(WARNINGS) $(OPTIMIZE) -fno-common \
	$(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all) \
	-D_GNU_SOURCE -DGASPIPE_VERSION='"$(VERSION)"'

# These targets begin with setup: make first remakes the files that it includes, and restarts if they
# have changed.
ifneq ($(filter demo metered metered-profile musl built check check-quick check-npm conformance packages unit,$(MAKECMDGOALS)),)
include build/set-up
build/set-up: FORCE
	@scripts/setup $(if $(filter-out unit,$(MAKECMDGOALS)),,--unit $(if $(filter $(BUILD)/tests/worker/%,$(call narrow,$(UNIT_TESTS))),--xs)) \
		$(if $(filter built check check-quick check-npm conformance packages,$(MAKECMDGOALS)),--test) \
		$(if $(filter metered metered-profile musl built check check-npm conformance packages,$(MAKECMDGOALS)),--meter) \
		$(if $(filter musl built check check-npm conformance,$(MAKECMDGOALS)),--cross) \
		$(if $(filter check-npm conformance packages,$(MAKECMDGOALS)),--npm)
	@[ -e $@ ] || { mkdir -p $(@D) && touch $@; }
endif
.PHONY: FORCE
FORCE:

# Functions are traced on x86-64 only.
ON_X86_64 := $(filter x86_64,$(shell uname -m))

include scripts/xs.mk
include scripts/blst.mk
include scripts/npm.mk
include scripts/swingset.mk
include scripts/vats.mk

# A directory's archive contains its files and those below, except the one with main().
MAINS := supervisor/main.c supervisor/prepare_start.c worker/main.c worker/main_wasm.c worker/main_native.c worker/main_native_metered.c sandbox/main.c tools/slogreport.c
ROOMS := base gas proto sandbox store kernel slog counter worker meter/costs trace supervisor tools
sources_below = $(sort $(shell find $(1) -name '*.c'))
# The metered worker, which is built for other machines too, does without what needs OpenSSL;
# that of WebAssembly does without XS.
# The agent is a library of its own, and the filters are compiled by a program of their own.
UNTRACED := $(if $(ON_X86_64),supervisor/trace/trace_elsewhere.c trace/patch/trampoline_elsewhere.c,$(foreach part,target threads stacks restore,supervisor/trace/trace_$(part).c) trace/patch/trampoline.c)
room_sources = $(filter-out $(MAINS) $(UNTRACED) trace/agent/% sandbox/filters/% $(if $(METERED_WORKER_OF),worker/native/% $(if $(filter wasm,$(METERED_ENGINE)),worker/xs/%,worker/near/%)),$(call sources_below,$(1)))
ARCHIVES := $(foreach room,$(ROOMS),$(BUILD)/lib/$(room).a)

PROGRAMS := $(BUILD)/gaspipe $(BUILD)/gaspipe-worker $(BUILD)/gaspipe-worker-wasm $(BUILD)/gaspipe-worker-native $(BUILD)/gaspipe-sandbox \
	$(BUILD)/slogreport $(BUILD)/libgascount.so \
	$(if $(ON_X86_64),$(BUILD)/libgastrace.so)

# Built where the system has no QEMU that takes plugins (scripts/setup), or asked for.
BUILT_QEMU := build/qemu/bin/qemu-x86_64

.PHONY: all qemu setup demo install uninstall deb image clean help
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all
all: $(PROGRAMS) $(if $(wildcard $(BUILT_QEMU)),$(BUILD)/gaspipe-qemu) $(SWINGSET_BUNDLES) $(BUILD)/prepare-start $(BUILD)/swingset-warm.heap

$(BUILT_QEMU):
	@scripts/setup --qemu
	@scripts/build-qemu build/qemu

$(BUILD)/gaspipe-qemu: $(BUILT_QEMU)
	@ln -sf $(CURDIR)/$< $@

qemu: $(BUILD)/gaspipe-qemu

help:
	@echo 'make demo       install what is missing, build, run the examples and report'
	@echo 'make check      install what is missing, build, run all tests'
	@echo 'make            build into build/'
	@echo 'make built      install what is missing, build all that make check runs'
	@echo 'make check-npm  compare with npm'"'"'s client and SwingSet'"'"'s own kernel'
	@echo 'make conformance  run suites of others and random programs, which no configuration may change'
	@echo 'make qemu       build a QEMU that takes plugins, as make demo does where the system has none'
	@echo 'make check-qemu test the counter under a newer QEMU, which is built first'
	@echo 'make exchange   run a thousand lines of business between the vats of examples/exchange'
	@echo 'make musl       build a metered C library for gaspipe-cc --musl'
	@echo 'make metered    install LLVM, build the compiled-in meter: gaspipe-cc, and a worker compiled by it'
	@echo 'make metered-profile  build workers that profile what they meter: --counter compiled --native-profile'
	@echo 'make node       build the package that replaces @agoric/xsnap under SwingSet'
	@echo 'make packages   run widely used npm packages as contracts, and compare with node'
	@echo 'make suites     assemble the suites of gaspipe estimate'
	@echo 'make vats       bundle the vats of the examples and tests'
	@echo 'make compile-commands  write build/compile_commands.json, for editors and clang-tidy'
	@echo 'make lint       check layout, includes, circles, clang-tidy, cppcheck, shellcheck'
	@echo 'make unit       run only the unit tests; make unit TESTS=buf builds and runs this one'
	@echo 'make check-quick  run the unit tests and the examples'
	@echo 'make program    run only the whole-program tests'
	@echo 'make campaign   try N=100 times each trouble that a run can meet, and compare the outcome'
	@echo 'make fuzz       run each fuzzer for SECONDS=30'
	@echo 'make golden     update the expected outputs of the tests'
	@echo 'make bench      run the benchmarks of docs/benchmarks.md'
	@echo 'make install    install into PREFIX=/usr/local; make uninstall removes it'
	@echo 'make deb        make Debian packages: gaspipe, gaspipe-meter (the compiler), gaspipe-dev (headers)'
	@echo 'make image      make an image gaspipe:VERSION for containers, with buildah or docker'
	@echo 'SAN=address,undefined SAN=thread CC=clang OPTIMIZE=-O3 CFLAGS=-g V=1 change the build'

Q := $(if $(V),,@)
say = $(if $(V),,@printf '%-8s %s\n' '$(1)' '$(2)')

# ---- compiling ------------------------------------------------------------

# Writes the text to the file unless it is already there, so that what depends on the file is
# remade only after a change. Done while reading the Makefile, so that make -n is right. GNU
# make 4.3 does not always remove a file's last newline, so blanks are ignored.
differ = $(or $(subst <$(1)>,,<$(2)>),$(subst <$(2)>,,<$(1)>))
remember = $(if $(call differ,$(strip $(file <$(1))),$(strip $(2))),$(shell mkdir -p $(dir $(1)))$(file >$(1),$(2)))

# Objects are remade when the compiler or its flags change.
FLAGS_FILE := $(BUILD)/flags
$(call remember,$(FLAGS_FILE),$(CC) $(GASPIPE_CFLAGS) $(CFLAGS))

compile = $(CC) $(GASPIPE_CFLAGS) $(ROOM_CFLAGS) $(CFLAGS) $(PACKAGE_CFLAGS) -MMD -MP -c $(1) -o $(2)

$(BUILD)/obj/%.o: %.c $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(call say,cc,$<)
	$(Q)$(call compile,$<,$@)

# How the object of the same name is compiled: an entry of compile_commands.json.
json_text = "$(subst ",\",$(subst \,\\,$(1)))"
json_member = $(call json_text,$(1)):$(call json_text,$(2))
$(BUILD)/obj/%.json: %.c $(FLAGS_FILE) Makefile
	$(shell mkdir -p $(@D))$(file >$@,{$(call json_member,directory,$(CURDIR)),$(call \
		json_member,file,$<),$(call json_member,command,$(call compile,$<,$(@:.json=.o)))},)@:

# The engine's files see XS's headers, with the defines that XS was compiled with.
XS_OBJECTS := $(patsubst %.c,$(BUILD)/obj/%.o,$(call sources_below,worker/xs))
$(BUILD)/obj/worker/xs/%: ROOM_CFLAGS = $(XS_CFLAGS)
$(XS_OBJECTS): $(XS_ARCHIVE)

# The functions of curves see blst's header.
$(BUILD)/obj/worker/near/host/host_curves.%: ROOM_CFLAGS = $(BLST_CFLAGS)
$(BUILD)/obj/worker/near/host/host_curves.o: $(BLST_ARCHIVE)

# Gigabytes of lines pass through these. The worker is not compiled with -O3, because that
# would change its instruction counts.
$(BUILD)/obj/slog/% $(BUILD)/obj/base/json/json_same.% $(BUILD)/obj/base/json/scan% \
	$(BUILD)/obj/base/json/skip.%: ROOM_CFLAGS = $(if $(filter -O2,$(OPTIMIZE)),-O3)

# The programs contain the contract runtimes.
$(BUILD)/obj/supervisor/runtime/vat_runtime.o: $(wildcard runtime/*.js)

# slogreport contains the page that --html fills.
$(BUILD)/obj/tools/html/page_file.o: $(wildcard tools/html/page/*)

# gcc's own advice for code that jumps to labels: each place keeps a jump of its own.
$(BUILD)/obj/worker/wasm/run/interpreter.o: ROOM_CFLAGS = $(if $(findstring clang,$(CC))$(findstring gaspipe-cc,$(CC)),,-fno-gcse -fno-crossjumping)
$(BUILD)/obj/worker/wasm/run/interpreter.o: $(wildcard worker/wasm/run/*.inc)

$(BUILD)/obj/worker/near/call/parameters.o: worker/near/call/parameters.txt

# The filters of system calls, compiled here from their rules. The same for every build: a metered
# or sanitized one does not compile the compiler, too.
FILTERS := build/filters/start_filter.inc build/filters/zygote_filter.inc build/filters/contract_filter.inc \
	build/filters/syscall-names.inc build/filters/guest-syscall-names.inc
build/filters/compile-filters: $(wildcard sandbox/filters/*.[ch]) sandbox/contract_filter.h
	@mkdir -p $(@D)
	$(call say,cc,$@)
	$(Q)gcc -std=gnu17 -I. -D_GNU_SOURCE -O1 $(filter %.c,$^) -lseccomp -o $@.$$$$ && mv $@.$$$$ $@
build/filters/%_filter.inc: build/filters/compile-filters
	$(Q)$< $* > $@.$$$$ && mv $@.$$$$ $@

build/filters/%-names.inc: build/filters/compile-filters
	$(Q)$< $*-names > $@.$$$$ && mv $@.$$$$ $@
$(BUILD)/obj/sandbox/%: ROOM_CFLAGS = -Ibuild/filters $(if $(filter-out $(shell uname -m)-%,$(METERED_WORKER_OF)),-DFOREIGN_FILTERS)
$(addprefix $(BUILD)/obj/sandbox/,main.o contract_filter.o syscall_name.o): $(FILTERS)

# An archive is also remade when a file has left its directory.
define archive_rule
$(call remember,$(BUILD)/lib/$(1).list,$(call room_sources,$(1)))
$(BUILD)/lib/$(1).a: $(patsubst %.c,$(BUILD)/obj/%.o,$(call room_sources,$(1))) $(BUILD)/lib/$(1).list
	@rm -f $$@
	$$(Q)ar rcs $$@ $$(filter %.o,$$^)
endef
$(foreach room,$(ROOMS),$(eval $(call archive_rule,$(room))))

lib = $(foreach room,$(1),$(BUILD)/lib/$(room).a)
link = $(Q)$(CC) $(GASPIPE_CFLAGS) $(CFLAGS) $(LDFLAGS) $(filter %.o,$^) $(filter-out $(XS_ARCHIVE),$(filter %.a,$^))

$(BUILD)/gaspipe: $(BUILD)/obj/supervisor/main.o $(call lib,supervisor trace kernel store counter sandbox proto slog gas base)
	$(call say,link,$@)
	$(link) $(PACKAGE_LIBS) -lZydis -lnats -lm -o $@

# The snapshot that vats of SwingSet start from, which each run would have to make otherwise. What it
# is of is in its name: one that is out of date is not used.
$(BUILD)/prepare-start: $(BUILD)/obj/supervisor/prepare_start.o $(call lib,supervisor trace kernel store counter sandbox proto slog gas base)
	$(call say,link,$@)
	$(link) $(PACKAGE_LIBS) -lZydis -lnats -lm -o $@

ifeq ($(SAN),)
$(BUILD)/swingset-warm.heap: $(BUILD)/gaspipe-worker $(SWINGSET_BUNDLES) | $(BUILD)/prepare-start
	$(call say,prepare,$@)
	$(Q)$(BUILD)/prepare-start $@
endif

# Functions called by XS that worker/xs/xs_memory.c, engine_xs.c and xs_profile.c replace. Sanitizers have
# their own memset.
XS_WRAPPED := fxRunID fxIsReadable fxVReportError malloc calloc realloc qsort \
	fxAllocateSlots $(if $(SAN),,fxAllocateChunks memset) $(if $(METERED_WORKER_OF),fxFreeSlots)
XS_WRAP := $(XS_WRAPPED:%=-Wl,--wrap=%)

# The worker made of these objects; see below for sanitized builds.
NATIVE_WORKER := $(BUILD)$(if $(SAN),/native)/gaspipe-worker

$(NATIVE_WORKER): $(BUILD)/obj/worker/main.o $(call lib,worker sandbox proto base) $(XS_ARCHIVE)
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(link) -Wl,--start-group $(BUILD)/lib/worker.a $(XS_ARCHIVE) -Wl,--end-group \
		$(XS_WRAP) -rdynamic -lm -ldl -lpthread -o $@

NATIVE_WASM_WORKER := $(BUILD)$(if $(SAN),/native)/gaspipe-worker-wasm

$(NATIVE_WASM_WORKER): $(BUILD)/obj/worker/main_wasm.o $(call lib,worker sandbox proto base) $(BLST_ARCHIVE)
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(link) -ljansson -lcrypto -lsodium -lsecp256k1 -lm -ldl -lpthread -o $@

NATIVE_CODE_WORKER := $(BUILD)$(if $(SAN),/native)/gaspipe-worker-native
NATIVE_CODE_LIBS := -ljansson -lcrypto -lelf -lm -ldl -lpthread

$(NATIVE_CODE_WORKER): $(BUILD)/obj/worker/main_native.o $(call lib,worker sandbox proto base)
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(link) $(NATIVE_CODE_LIBS) -o $@

# Static: each start of a worker goes through it, and would wait for the dynamic linker twice.
ifneq ($(SAN),thread)
$(BUILD)/gaspipe-sandbox: $(BUILD)/obj/sandbox/main.o $(call lib,sandbox base)
	$(call say,link,$@)
	$(link) $(if $(SAN),,-static) -o $@
endif

# QEMU cannot run a sanitized worker: its shadow memory would take tens of gigabytes of page
# tables. A sanitized gaspipe therefore uses an ordinary worker, and native/ contains a
# sanitized gaspipe and worker for runs without the counter. ThreadSanitizer has nothing to find in
# workers, which have one thread: SAN=thread builds no native/, and copies gaspipe-sandbox, too.
ifneq ($(SAN),)
ifneq ($(SAN),thread)
all: $(BUILD)/native/gaspipe $(NATIVE_WORKER) $(NATIVE_WASM_WORKER) $(NATIVE_CODE_WORKER) \
	$(BUILD)/native/swingset-warm.heap

$(BUILD)/native/gaspipe: $(BUILD)/gaspipe $(SWINGSET_BUNDLES)
	@mkdir -p $(@D)
	@ln -f $(SWINGSET_BUNDLES) $(@D)
	@ln -f $< $@

# The sanitized worker has its own: otherwise each run with vats of SwingSet would spend a second on making one.
$(BUILD)/native/swingset-warm.heap: $(NATIVE_WORKER) $(BUILD)/native/gaspipe | $(BUILD)/prepare-start
	$(call say,prepare,$@)
	@ln -f $(BUILD)/prepare-start $(@D)
	$(Q)$(@D)/prepare-start $@

# The engine of this worker is sanitized, too. It is for programs that try to harm the engine's memory.
XS_SANITIZED_WORKER := $(BUILD)/xs-sanitized/gaspipe-worker
all: $(XS_SANITIZED_WORKER)
$(XS_SANITIZED_WORKER): $(BUILD)/obj/worker/main.o $(call lib,worker sandbox proto base) $(XS_SANITIZED)/libxs.a
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(link) -Wl,--start-group $(BUILD)/lib/worker.a $(XS_SANITIZED)/libxs.a -Wl,--end-group \
		$(XS_WRAP) -lm -ldl -lpthread -o $@

endif

ORDINARY := $(addprefix $(BUILD)/,gaspipe-worker gaspipe-worker-wasm gaspipe-worker-native swingset-warm.heap \
	$(if $(filter thread,$(SAN)),gaspipe-sandbox))

.PHONY: ordinary
ordinary: $(XS_ARCHIVE) $(BLST_ARCHIVE)
	@$(MAKE) --no-print-directory SAN= BUILD=build $(ORDINARY:$(BUILD)/%=build/%)

$(ORDINARY): ordinary
	@cmp -s build/$(@F) $@ || cp build/$(@F) $@
endif

include scripts/meter.mk
include scripts/node.mk

# Only slogreport speaks HTTP.
HTTP_LIBS = $(shell pkg-config --libs libcurl libmicrohttpd)
$(BUILD)/obj/tools/otlp/otlp_batch.%: ROOM_CFLAGS = $(shell pkg-config --cflags libcurl)

$(BUILD)/slogreport: $(BUILD)/obj/tools/slogreport.o $(call lib,tools slog gas base)
	$(call say,link,$@)
	$(link) $(PACKAGE_LIBS) $(HTTP_LIBS) -lm -lpthread -o $@

# Not sanitized, because it is loaded into QEMU, which is not.
$(BUILD)/libgascount.so: $(call sources_below,counter) base/pair_table.c base/pair_table.h $(addprefix sandbox/,contract_filter.c syscall_name.c) $(FILTERS) $(wildcard sandbox/*.h counter/*.h counter/qemu/*.h counter/qemu/*/*.h) $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(call say,plugin,$@)
	$(Q)$(CC) -std=gnu17 -I. -Ibuild/filters $(WARNINGS) -O2 -D_GNU_SOURCE $(CFLAGS) -fPIC -shared -fvisibility=hidden \
		$(filter %.c,$^) -o $@

# Likewise: it is loaded into programs of others. It keeps off the vector registers, which hold the
# arguments of the functions that it interrupts.
AGENT_CFLAGS := -fPIC -fvisibility=hidden -ftls-model=initial-exec -mgeneral-regs-only
$(BUILD)/obj/trace/agent/%: ROOM_CFLAGS = $(AGENT_CFLAGS)
$(BUILD)/libgastrace.so: $(call sources_below,trace/agent) $(wildcard trace/*.h trace/agent/*.h) $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(call say,agent,$@)
	$(Q)$(CC) -std=gnu17 -I. $(WARNINGS) -O2 -D_GNU_SOURCE $(CFLAGS) $(AGENT_CFLAGS) -shared -Wl,-z,now \
		$(filter %.c,$^) -o $@

# Not those of other builds, whose directories may lie in this one.
-include $(shell find $(BUILD) \( -path $(BUILD)/qemu -o -path '$(BUILD)/san-*' -o -path $(BUILD)/fuzz -o \
	-path '$(BUILD)/lint-*' \) -prune -o -name '*.d' -type f -print 2>/dev/null)

# ---- set-up -----------------------------------------------------------------

# Lists what it is about to install; does nothing if nothing is missing.
setup:
	@scripts/setup --test

# ---- running it -----------------------------------------------------------------

demo: all
	@BUILD=$(BUILD) scripts/demo

include scripts/suites.mk
include scripts/tests.mk

# ---- installing -------------------------------------------------------------------

PREFIX ?= /usr/local
BINDIR := $(DESTDIR)$(PREFIX)/bin
LIBDIR := $(DESTDIR)$(PREFIX)/lib/gaspipe
INCLUDEDIR := $(DESTDIR)$(PREFIX)/include/gaspipe
MANDIR := $(DESTDIR)$(PREFIX)/share/man
MANUAL := $(wildcard docs/man/*)
DOCDIR := $(DESTDIR)$(PREFIX)/share/doc/gaspipe
COMPLETIONS := $(foreach program,gaspipe slogreport,bash-completion/completions/$(program) \
	zsh/site-functions/_$(program) fish/vendor_completions.d/$(program).fish)
SHAREDIR := $(DESTDIR)$(PREFIX)/share
DOCUMENTS := $(wildcard docs/*.md docs/*.json docs/*.yml)
UNITDIR := $(DESTDIR)$(PREFIX)/lib/systemd/system
UNITS := $(wildcard docs/systemd/*.service)

# The examples in git, without the output of their runs.
EXAMPLES := $(wildcard examples/*.json examples/*/*.js examples/*/*.jsonl examples/*/*.md \
	examples/*/*.mjs examples/*/*.ts examples/*/*.c examples/*/*.cc examples/*/*.h examples/*/run)
WITH_METER ?= $(wildcard build/gaspipe-meter)

# gaspipe looks for the plugin next to itself and in ../lib/gaspipe.
# The suites of gaspipe estimate are assembled where wabt is there.
WITH_SUITES ?= $(shell command -v wat2wasm)
SUITEDIR := $(DESTDIR)$(PREFIX)/share/gaspipe/suites

install: all $(if $(WITH_SUITES),suites)
	install -d $(BINDIR) $(LIBDIR) $(INCLUDEDIR) $(DOCDIR) $(addprefix $(SHAREDIR)/,$(dir $(COMPLETIONS)))
	install -m 755 $(BUILD)/gaspipe $(BUILD)/slogreport $(BUILD)/gaspipe-worker $(BUILD)/gaspipe-worker-wasm \
		$(BUILD)/gaspipe-worker-native $(BINDIR)
	[ ! -x $(BUILT_QEMU) ] || install -m 755 $(BUILT_QEMU) $(LIBDIR)/gaspipe-qemu
	install -m 755 $(BUILD)/libgascount.so $(BUILD)/libgastrace.so $(BUILD)/gaspipe-sandbox $(LIBDIR)
	install -m 644 $(SWINGSET_BUNDLES) $(BUILD)/swingset-warm.heap $(LIBDIR)
	install -m 644 counter/gasmark.h worker/native/gascontract.h $(INCLUDEDIR)
	$(if $(WITH_METER),@$(MAKE) --no-print-directory install-meter)
	for page in $(MANUAL); do \
		install -D -m 644 $$page $(MANDIR)/man$${page##*.}/$${page##*/} || exit; \
	done
	install -m 644 $(DOCUMENTS) $(DOCDIR)
	install -D -m 644 -t $(UNITDIR) $(UNITS)
	for example in $(EXAMPLES); do \
		install -D -m "$$([ -x $$example ] && echo 755 || echo 644)" $$example $(DOCDIR)/$$example || exit; \
	done
	$(if $(WITH_SUITES),for file in $(patsubst $(BUILD)/suites/%,%,$(SUITE_MODULES) $(SUITE_FILES)); do \
		install -D -m 644 $(BUILD)/suites/$$file $(SUITEDIR)/$$file || exit; \
	done)
	for program in gaspipe slogreport; do \
		$(BUILD)/$$program --completion bash > $(SHAREDIR)/bash-completion/completions/$$program && \
		$(BUILD)/$$program --completion zsh > $(SHAREDIR)/zsh/site-functions/_$$program && \
		$(BUILD)/$$program --completion fish > $(SHAREDIR)/fish/vendor_completions.d/$$program.fish || exit; \
	done

# The compiled-in meter, where `make metered` has built it.
.PHONY: install-meter
METERED_MUSL = $(patsubst $(METER_PARTS)/%,%,$(foreach part,include lib costs.table,$(wildcard $(METER_PARTS)/*-musl/$(part))))
install-meter:
	install -m 755 build/gaspipe-meter build/gaspipe-wasm-compiler build/gaspipe-cc build/gaspipe-c++ $(wildcard $(METERED_WORKER) $(METERED_WASM_WORKER) $(METERED_NATIVE_WORKER) $(METERED_PROFILE_WORKERS)) $(BINDIR)
	cd $(METER_PARTS) && find include */libgasmeter.a */part.o $(METERED_MUSL) -type f \
		-exec install -D -m 644 {} $(abspath $(LIBDIR))/meter/{} \;
	install -m 644 meter/gasmeter.h $(INCLUDEDIR)

# With the same PREFIX.
uninstall:
	rm -f $(addprefix $(BINDIR)/,gaspipe slogreport gaspipe-worker gaspipe-worker-wasm gaspipe-worker-native gaspipe-meter gaspipe-wasm-compiler gaspipe-cc gaspipe-c++ gaspipe-worker-metered gaspipe-worker-wasm-metered gaspipe-worker-native-metered gaspipe-worker-metered-profile gaspipe-worker-wasm-metered-profile)
	rm -f $(foreach page,$(MANUAL),$(MANDIR)/man$(subst .,,$(suffix $(page)))/$(notdir $(page)))
	rm -f $(addprefix $(SHAREDIR)/,$(COMPLETIONS)) $(addprefix $(UNITDIR)/,$(notdir $(UNITS)))
	rm -rf $(LIBDIR) $(INCLUDEDIR) $(DOCDIR) $(DESTDIR)$(PREFIX)/share/gaspipe

deb: all
	@scripts/setup --deb --meter
	@$(MAKE) --no-print-directory metered metered-profile
	+@BUILD=$(BUILD) scripts/make-deb

# buildah or docker, whichever is there.
image: deb
	@scripts/make-image

clean:
	rm -rf build

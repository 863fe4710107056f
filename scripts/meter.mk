# The compiled-in meter: gaspipe-meter over LLVM, the wrappers gaspipe-cc and gaspipe-c++, what
# they link into programs, and a worker that is compiled by them, engine included. Without
# LLVM all else is built; `make metered` says what is missing.

LLVM_CONFIG := $(shell command -v llvm-config-19)
HAVE_LLVM := $(and $(LLVM_CONFIG),$(shell command -v clang-19))
METER_CLANG := clang-19
METER_CFLAGS = $(if $(HAVE_LLVM),-isystem $(shell $(LLVM_CONFIG) --includedir))

METER_PARTS := build/meter
# The machine that builds, and a second one where its cross compiler is there.
OWN_MACHINE := $(shell uname -m)-linux-gnu
METER_MACHINES := $(OWN_MACHINE) \
	$(if $(ON_X86_64),$(if $(wildcard /usr/aarch64-linux-gnu/include/stdlib.h),aarch64-linux-gnu))
METER_SOURCES := $(filter-out meter/runtime/% meter/costs/%,$(call sources_below,meter))
AOT_SOURCES := $(call sources_below,aot)
AOT_OBJECTS := $(patsubst %.c,$(BUILD)/obj/%.o,$(AOT_SOURCES))
METER_OBJECTS := $(patsubst %.c,$(BUILD)/obj/%.o,$(METER_SOURCES))
METER_RUNTIME := $(call sources_below,meter/runtime)
METER_HEADERS := $(METER_PARTS)/include/gasmeter.h $(METER_PARTS)/include/gasmark.h \
	$(METER_PARTS)/include/portable_jmp_buf.h

# The parts of gaspipe-cc. The wrappers are ordinary programs also in a sanitized build.
METER_TOOLS := build/gaspipe-meter build/gaspipe-wasm-compiler build/gaspipe-cc build/gaspipe-c++ $(METER_HEADERS) \
	$(foreach machine,$(METER_MACHINES),$(METER_PARTS)/$(machine)/libgasmeter.a $(METER_PARTS)/$(machine)/part.o)
METERED_WORKER := build/gaspipe-worker-metered
METERED_WASM_WORKER := build/gaspipe-worker-wasm-metered
METERED_NATIVE_WORKER := build/gaspipe-worker-native-metered
# Workers that report the function of each unit, for gaspipe run --counter compiled --native-profile.
METERED_PROFILE_WORKERS := build/gaspipe-worker-metered-profile build/gaspipe-worker-wasm-metered-profile

$(BUILD)/obj/meter/% $(BUILD)/obj/aot/%: ROOM_CFLAGS = $(METER_CFLAGS)
$(BUILD)/obj/meter/costs/cost_table.o: meter/costs/default.table

.PHONY: metered metered-profile meter-tools
metered: meter-tools
	@$(MAKE) --no-print-directory SAN= $(METERED_WORKER) $(METERED_WASM_WORKER) $(METERED_NATIVE_WORKER)

metered-profile: meter-tools
	@$(MAKE) --no-print-directory SAN= $(METERED_PROFILE_WORKERS)

ifeq ($(HAVE_LLVM),)
meter-tools:
	@echo 'the meter needs clang-19, llvm-19-dev and lld-19: scripts/setup --meter installs them' >&2
	@exit 4
else
# Made here, what the makes above also need is not written by two of them at a time.
meter-tools: $(METER_TOOLS) $(FILTERS) $(XS_PATCHED)
metered: $(if $(SAN),,$(METERED_NATIVE_WORKER))
endif

# A program that came out the same stays as it is, and so does XS, which takes half a minute.
# LLVM is linked without sanitizers, so the program that calls it is, too.
ifeq ($(SAN),)
build/gaspipe-meter build/gaspipe-wasm-compiler: build/%: build/obj/%
	@cmp -s $< $@ || cp $< $@

build/obj/gaspipe-meter: $(METER_OBJECTS) $(call lib,meter/costs base)
	$(call say,link,$@)
	$(link) $(shell $(LLVM_CONFIG) --ldflags --libs core irreader bitwriter passes x86 aarch64) \
		-lcrypto -o $@

# Compiles modules of WebAssembly.
build/obj/gaspipe-wasm-compiler: $(AOT_OBJECTS) $(call lib,worker base)
	$(call say,link,$@)
	$(link) $(shell $(LLVM_CONFIG) --ldflags --libs core passes x86) -lcrypto -lm -o $@
else
.PHONY: ordinary-meter
ordinary-meter:
	@$(MAKE) --no-print-directory SAN= BUILD=build build/gaspipe-meter build/gaspipe-wasm-compiler
build/gaspipe-meter build/gaspipe-wasm-compiler: ordinary-meter ;
endif

build/gaspipe-cc build/gaspipe-c++: meter/gaspipe-cc
	@mkdir -p $(@D)
	$(Q)install -m 755 $< $@

$(METER_PARTS)/include/gasmark.h: counter/gasmark.h
$(METER_PARTS)/include/gasmeter.h: meter/gasmeter.h
$(METER_PARTS)/include/portable_jmp_buf.h: meter/portable_jmp_buf.h
$(METER_HEADERS):
	@mkdir -p $(@D)
	$(Q)cp --remove-destination $< $@

# The run-time part, for each machine that there is a libc for; never metered itself. Its second argument
# are options of clang, its third what there must be before.
define meter_runtime_rules
$(METER_PARTS)/$(1)/%.o: meter/runtime/%.c $(wildcard meter/runtime/*.h) meter/gasmeter.h counter/gasmark.h $(3)
	@mkdir -p $$(@D)
	$$(call say,runtime,$$@)
	$$(Q)$(METER_CLANG) --target=$(1:musl=gnu) -std=gnu17 -I. $(WARNINGS) -O2 -D_GNU_SOURCE \
		-ftls-model=initial-exec $(2) -c $$< -o $$@

$(METER_PARTS)/$(1)/libgasmeter.a: $(filter-out %/part.o,$(METER_RUNTIME:meter/runtime/%.c=$(METER_PARTS)/$(1)/%.o))
	@rm -f $$@
	$$(Q)ar rcs $$@ $$^
endef
$(foreach machine,$(METER_MACHINES),$(eval $(call meter_runtime_rules,$(machine),-fPIC)))

# A metered musl for gaspipe-cc --musl, which takes a minute and is built when it is asked for.
MUSL_SOURCES := build/meter-sources/musl-1.2.3
MUSL_MACHINES := $(METER_MACHINES:%-gnu=%-musl)
.PHONY: musl
musl: $(foreach machine,$(MUSL_MACHINES),$(METER_PARTS)/$(machine)/libgasmeter.a $(METER_PARTS)/$(machine)/part.o)

$(MUSL_SOURCES)/VERSION: scripts/fetch-debian
	@scripts/fetch-debian musl 1.2.3-1 musl_1.2.3.orig.tar.gz \
		7d5b0b6062521e4627e099e4c9dc8248d32a30285e959b7eecaa780cf8cfd4a4 build/meter-sources
	@cd build/meter-sources && tar xzf musl_1.2.3.orig.tar.gz
	@touch $@

define musl_rules
$(METER_PARTS)/$(1)/lib/libc.a: $(MUSL_SOURCES)/VERSION build/gaspipe-meter $(wildcard meter/musl/* meter/musl/*/*)
	@echo 'musl     compiling it for $(1), metered'
	@mkdir -p $$(@D)
	@$$(MAKE) -s --no-print-directory -f meter/musl/musl.mk MUSL=$(MUSL_SOURCES) MACHINE=$(firstword $(subst -, ,$(1))) \
		INTO=$(METER_PARTS)/$(1) METER=build/gaspipe-meter > $$(@D)/../musl.log 2>&1 || \
		{ cat $$(@D)/../musl.log >&2; exit 1; }
endef
$(foreach machine,$(MUSL_MACHINES),$(eval $(call musl_rules,$(machine))) \
	$(eval $(call meter_runtime_rules,$(machine),-nostdinc -isystem $(METER_PARTS)/$(machine)/include -isystem $$$$($(METER_CLANG) -print-resource-dir)/include -fno-pie -Xclang -mlong-double-64 $(if $(filter aarch64%,$(machine)),-mno-outline-atomics),$(METER_PARTS)/$(machine)/lib/libc.a)))

# The worker and XS, from the same sources as the ordinary ones; for another machine, the name
# of its directory: make build/metered/aarch64-linux-gnu/gaspipe-worker
METERED_CC = $(CURDIR)/build/gaspipe-cc --target=$(call metered_target,$(1)) \
	$(call metered_option,$(1)) -D_GNU_SOURCE \
	-include $(CURDIR)/$(METER_PARTS)/include/portable_jmp_buf.h
# Variants for bench/meter: -plain has no meter, -counting has one without budgets,
# -naive a call for each block. Those of -profile, for both machines, say which function the units
# of a worker go to.
METERED_VARIANTS := plain counting naive
METERED_ALL := $(METER_MACHINES) $(METER_MACHINES:%=%-profile) $(METERED_VARIANTS:%=$(OWN_MACHINE)-%)
metered_target = $(firstword $(foreach variant,$(METERED_VARIANTS) profile,$(patsubst %-$(variant),%,$(filter %-$(variant),$(1)))) $(1))
metered_option = $(if $(filter %-plain,$(1)),--unmetered)$(if $(filter %-counting,$(1)),--meter=--no-budgets)$(if $(filter %-naive,$(1)),--meter=--naive)$(if $(filter %-profile,$(1)),--meter=--profile)
# The compiler of XS for the machine, and what it makes: the files are those of the ordinary worker.
METERED_XS_CC = $(call METERED_CC,$(1)) -w $(XS_DEFINED) $(XS_COUNTED) \
	-ffile-prefix-map=$(CURDIR)/build/metered/$(1)/xs=xsnap
metered_xs_compile = $(call xs_compile,build/metered/$(1)/xs,build/metered/$(1)/xs/objects,$(call METERED_XS_CC,$(1)) $(2),$(3))

define metered_worker_rules
build/metered/$(1)/libxs.a: $(XS_PATCHED) $(XS_HEADERS) build/gaspipe-meter build/gaspipe-cc \
		$(METER_PARTS)/include/portable_jmp_buf.h | $(METER_TOOLS)
	@echo 'xs       compiling the engine for $(1), metered'
	@rm -rf $$(@D)/xs && mkdir -p $$(@D) && cp -r $(XS_SOURCES) $$(@D)/xs && mkdir $$(@D)/xs/objects
	@{ $(call metered_xs_compile,$(1),,$(XS_PLAIN) $(XS_INLINED) xsRun) && \
		$(call metered_xs_compile,$(1),$(XS_GARBAGE),$(XS_MEMORY)); } \
		> $$(@D)/xs.log 2>&1 || { cat $$(@D)/xs.log >&2; exit 1; }
	@rm -f $$@
	@ar rcs $$@ $$(@D)/xs/objects/*.o

build/metered/$(1)/gaspipe-worker: build/metered/$(1)/libxs.a $(METER_TOOLS) \
		$(FILTERS) \
		$$(foreach room,worker sandbox proto base,$$(call sources_below,$$(room)))
	@rm -f $$@ # the run-time part may be another one, which the make below does not know of
	@$$(MAKE) --no-print-directory SAN= BUILD=build/metered/$(1) CC='$$(call METERED_CC,$(1))' \
		XS_ARCHIVE=build/metered/$(1)/libxs.a PACKAGE_CFLAGS= CFLAGS= WARNINGS=-w METERED_WORKER_OF=$(1) \
		build/metered/$(1)/gaspipe-worker
endef

# Code around the metered region counts nothing: a limit changes no cost.
ifneq ($(METERED_WORKER_OF),)
$(BUILD)/obj/worker/region.o: ROOM_CFLAGS = --unmetered -D__GASPIPE_METER__=1
$(BUILD)/obj/worker/region.o: scripts/meter.mk
# Nor does what stands in place of memset() and malloc(): whether an optimiser makes a call of memset()
# differs between machines, and what it costs is charged where it is called.
UNMETERED_XS := $(BUILD)/obj/worker/xs/xs_memory.o $(BUILD)/obj/worker/xs/xs_chunks.o
$(UNMETERED_XS): ROOM_CFLAGS = --unmetered -D__GASPIPE_METER__=1 $(XS_CFLAGS)
$(UNMETERED_XS): scripts/meter.mk
endif

ifeq ($(METERED_WORKER_OF),)
.PHONY: metered-variants
metered-variants: $(METERED_VARIANTS:%=build/metered/$(OWN_MACHINE)-%/gaspipe-worker)
$(foreach machine,$(METERED_ALL),$(eval $(call metered_worker_rules,$(machine))))

$(METERED_WORKER): build/metered/$(OWN_MACHINE)/gaspipe-worker
	$(Q)cp --remove-destination $< $@

build/gaspipe-worker-metered-profile: build/metered/$(OWN_MACHINE)-profile/gaspipe-worker
	$(Q)cp --remove-destination $< $@

# The variant of the meter; and the worker that it makes.
define metered_wasm_rules
build/metered/$(1)-wasm/gaspipe-worker-wasm: $(METER_TOOLS) $(FILTERS) $(BLST_ARCHIVE) \
		$$(foreach room,worker sandbox proto base,$$(call sources_below,$$(room)))
	@rm -f $$@
	@$$(MAKE) --no-print-directory SAN= BUILD=$$(@D) CC='$$(call METERED_CC,$(1))' \
		PACKAGE_CFLAGS= CFLAGS= WARNINGS=-w METERED_WORKER_OF=$(1) METERED_ENGINE=wasm $$@

$(2): build/metered/$(1)-wasm/gaspipe-worker-wasm
	$$(Q)cp $$< $$@
endef
$(eval $(call metered_wasm_rules,$(OWN_MACHINE),$(METERED_WASM_WORKER)))
$(eval $(call metered_wasm_rules,$(OWN_MACHINE)-profile,build/gaspipe-worker-wasm-metered-profile))
endif

# The worker of native contracts, for those that gaspipe-cc compiled. Nothing else of it is metered.
ifeq ($(SAN)$(METERED_WORKER_OF),)
$(METERED_NATIVE_WORKER): build/obj/worker/main_native_metered.o $(call lib,worker sandbox proto base) \
		$(METER_PARTS)/$(OWN_MACHINE)/libgasmeter.a
	$(call say,link,$@)
	$(link) $(NATIVE_CODE_LIBS) -o $@
endif

# `make check` has the metered worker; without LLVM the tests of it say that they are skipped.
METER_IN_TESTS := $(if $(HAVE_LLVM),metered metered-profile)

# Libraries that the meter is compared with peers on, and tried out on: Debian's sources of
# jansson and zlib. SQLite's come with `make vats`.
METER_LIBRARIES := build/meter-sources/fetched

.PHONY: meter-sources
meter-sources: $(METER_LIBRARIES)
$(METER_LIBRARIES): scripts/fetch-debian scripts/meter.mk
	@scripts/fetch-debian jansson 2.14-2 jansson_2.14.orig.tar.gz \
		c739578bf6b764aa0752db9a2fdadcfe921c78f1228c7ec0bb47fa804c55d17b $(@D)
	@scripts/fetch-debian zlib 1:1.2.13.dfsg-1 zlib_1.2.13.dfsg.orig.tar.bz2 \
		71feb7947e3c00ef125f83b79a4e529bde31171e5babe48b391f06758d1ab0a1 $(@D)
	@cd $(@D) && tar xzf jansson_2.14.orig.tar.gz && tar xjf zlib_1.2.13.dfsg.orig.tar.bz2
	@: > $(@D)/jansson-2.14/android/jansson_private_config.h
	@touch $@

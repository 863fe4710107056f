# The JavaScript engine XS, from the sources inside npm's @agoric/xsnap, fetched by exact version and
# checked by hash. The worker is compiled from a copy with the patches in worker/xs/patches. The
# untouched package makes xsnap-worker, the peer that tests and benchmarks compare with.

XS_VERSION := 0.15.0
XS_INTEGRITY := sha512-ZBm4DZxbtfacxMHVVdJjZi0Y8zOxN77vpu1WwI5RWfPkaRh0aHkz/dVdTGKXalDNzWfz183lljKxlxl3/h0n+A==
XS_DIR := build/xs
XS_PACKAGE := $(XS_DIR)/package
XS_SOURCES := $(XS_DIR)/sources
XS_PATCHED := $(XS_DIR)/patched
XS_PATCHES := $(sort $(wildcard worker/xs/patches/*.patch))
XS_ARCHIVE := $(XS_DIR)/libxs.a
XSNAP_WORKER := $(XS_PACKAGE)/xsnap-native/xsnap/build/bin/lin/release/xsnap-worker

# XS depends on what C leaves undefined: it reads objects through pointers of other types, lets
# integers overflow, and compares pointers with NULL after using them. Without these options the
# result of a contract would depend on the compiler's optimizer.
XS_DEFINED := -fno-strict-aliasing -fwrapv -fno-delete-null-pointer-checks

# XS's patched parsers count how deep they are with worker/xs/xs_platform.h. Its collector of garbage is
# in worker/xs/xs_mark.c and xs_sweep.c.
XS_COUNTED := -include $(abspath worker/xs/xs_platform.h)
XS_GARBAGE := -iquote $(CURDIR) -include $(CURDIR)/worker/xs/xs_garbage.h

# Its asserts hold the names of files. With those of this directory in them, the worker's
# instruction counts would depend on where it was built.
XS_CC := gcc -D_GNU_SOURCE $(XS_DEFINED) -ffile-prefix-map=$(abspath $(XS_SOURCES))=xsnap $(XS_COUNTED)

# The flags of xsnap-worker.mk, for gaspipe's files that include xs.h.
XS_CFLAGS := \
	-DINCLUDE_XSPLATFORM -DXSPLATFORM='"xsnapPlatform.h"' -DXSNAP_VERSION='"$(XS_VERSION)"' \
	-DmxLockdown=1 -DmxMetering=1 -DmxDebug=1 -DmxNoConsole=1 -DmxBoundsCheck=1 -DmxParse=1 \
	-DmxRun=1 -DmxSloppy=1 -DmxSnapshot=1 -DmxRegExpUnicodePropertyEscapes=1 \
	-DmxStringNormalize=1 -DmxMinusZero=1 $(XS_COUNTED) \
	-isystem $(XS_SOURCES)/moddable/xs/includes -isystem $(XS_SOURCES)/moddable/xs/platforms \
	-isystem $(XS_SOURCES)/moddable/xs/sources -isystem $(XS_SOURCES)/xsnap-native/xsnap/sources

$(XS_DIR)/fetched: scripts/xs.mk
	@scripts/fetch-npm @agoric/xsnap $(XS_VERSION) $(XS_INTEGRITY) $(XS_DIR)
	@touch $@

# A patch that does not apply exactly stops the build. The directory is newer after one was removed.
# So does a patch that moves lines of xsRun.c: worker/xs/xs_next.h has their numbers.
$(XS_PATCHED): $(XS_DIR)/fetched $(XS_PATCHES) worker/xs/patches worker/xs/xs_next.h
	@rm -rf $(XS_SOURCES) && cp -r $(XS_PACKAGE) $(XS_SOURCES) && rm -rf $(XS_SOURCES)/xsnap-native/xsnap/build
	@for file in $(XS_PATCHES); do \
		patch --batch --silent --fuzz=0 -d $(XS_SOURCES) -p1 < $$file || \
		{ echo "xs.mk: $$file does not apply to @agoric/xsnap $(XS_VERSION)" >&2; exit 1; }; done
	@awk 'NR == FNR { jumps[FNR] = /mxBreak|mxNextCode|mxFirstCode|mxBranchElse/; next } \
		match($$2, /^XS_NEXT_LINE_/) && !jumps[substr($$2, RLENGTH + 1)] { \
			print "xs.mk: xsRun.c has no jump where xs_next.h has " $$2 ": run scripts/xs-next"; exit 1 }' \
		$(XS_SOURCES)/moddable/xs/sources/xsRun.c worker/xs/xs_next.h >&2
	@touch $@

# The files that take the most time are compiled with small functions inline
# (worker/xs/xs_interpreter.h). Not xsMemory.c, where some of these are defined.
XS_INLINED := xsAPI xsArray xsDataView xsFunction xsGlobal xsJSON xsLockdown xsMapSet xsNumber xsObject \
	xsPromise xsProperty xsProxy xsRegExp xsString xsSymbol xsType
XS_PLAIN := xsAll xsArguments xsAtomics xsBigInt xsBoolean xsCode xsCommon xsDate xsDebug xsDefaults \
	xsError xsGenerator xsLexical xsMarshall xsMath xsModule xsPlatforms xsProfile xsScope xsScript \
	xsSourceMap xsSyntaxical xsTree xsdtoa xsre xsmc textdecoder textencoder modBase64 xsnapPlatform
XS_HEADERS := $(addprefix worker/xs/,xs_garbage.h xs_interpreter.h xs_next.h xs_platform.h)
XS_WORKER := $(XS_DIR)/worker
XS_INLINED_CC := $(XS_CC) -iquote $(CURDIR) -include $(abspath worker/xs/xs_interpreter.h)

# Link-time optimisation, a training profile and clang 19 were each within 5 % of this, and are not worth
# the build time. The interpreter has more of that header. Computing anything ahead, before one instruction of
# JavaScript for all that may follow, takes registers and a larger frame: gcc's own advice for code that
# jumps to labels is -fno-gcse.
XS_INTERPRETER_CC := $(XS_INLINED_CC) -DXS_INTERPRETER $(if $(ON_X86_64),-mno-red-zone) -fno-ira-share-spill-slots \
	-fno-ira-share-save-slots -fno-gcse -fno-tree-pre

XS_MEMORY := xsMemory xsSnapshot
XS_MEMORY_CC := $(XS_CC) $(XS_GARBAGE) -Wno-unused-function

# xs_make PACKAGE: that package's own release makefile.
xs_make = $(MAKE) --no-print-directory -C $(1)/xsnap-native/xsnap/makefiles/lin \
	-f xsnap-worker.mk GOAL=release XSNAP_VERSION=$(XS_VERSION) MODDABLE=$(abspath $(1)/moddable)
# xs_compile PACKAGE,DIRECTORY,COMPILER,FILES: objects of XS into a directory.
xs_compile = $(call xs_make,$(1)) CC='$(3)' TMP_DIR=$(abspath $(2)) $(patsubst %,$(abspath $(2))/%.o,$(4))
xs_worker_compile = $(call xs_compile,$(XS_SOURCES),$(XS_WORKER),$(1),$(2))

# A metered worker's archive is made in scripts/meter.mk, before make is called for the rest of it.
ifeq ($(METERED_WORKER_OF),)
$(XS_ARCHIVE): $(XS_PATCHED) $(XS_HEADERS)
	@echo 'xs       compiling the engine, once'
	@rm -rf $(XS_WORKER) && mkdir -p $(XS_WORKER)
	@{ $(call xs_worker_compile,$(XS_CC),$(XS_PLAIN)) && \
		$(call xs_worker_compile,$(XS_INLINED_CC),$(XS_INLINED)) && \
		$(call xs_worker_compile,$(XS_INTERPRETER_CC),xsRun) && \
		$(call xs_worker_compile,$(XS_MEMORY_CC),$(XS_MEMORY)); } > $(XS_DIR)/compile.log 2>&1 \
		|| { cat $(XS_DIR)/compile.log >&2; exit 1; }
	@rm -f $@
	@ar rcs $@ $(XS_WORKER)/*.o

# For the sanitized worker (Makefile): each chunk is one of malloc()'s and moves at each collection, what is
# not in use is poisoned, and XS_COLLECT_EVERY=N collects at every N-th allocation. Its own sweep.
XS_SANITIZED := $(XS_DIR)/sanitized
XS_SANITIZERS := -fsanitize=address,undefined,float-cast-overflow -fno-sanitize=alignment,nonnull-attribute
XS_SANITIZED_CC := $(XS_CC) -w -g1 $(XS_SANITIZERS) -fno-sanitize-recover=all -DmxNoChunks=1 -DmxPoisonSlots=1 \
	-DmxStress=1 -iquote $(CURDIR) -include $(CURDIR)/worker/xs/xs_garbage.h -Dxs_sweep=fxSweep
$(XS_SANITIZED)/libxs.a: $(XS_PATCHED) $(XS_HEADERS)
	@echo 'xs       compiling the engine, sanitized'
	@rm -rf $(@D) && mkdir -p $(@D)
	@$(call xs_compile,$(XS_SOURCES),$(@D),$(XS_SANITIZED_CC),$(XS_PLAIN) $(XS_INLINED) xsRun $(XS_MEMORY)) GOAL=debug \
		> $(@D)/compile.log 2>&1 || { cat $(@D)/compile.log >&2; exit 1; }
	@ar rcs $@ $(@D)/*.o

$(XSNAP_WORKER): $(XS_DIR)/fetched
	@echo 'xs       compiling xsnap-worker, the peer'
	@$(call xs_make,$(XS_PACKAGE)) CC=gcc > $(XS_DIR)/peer.log 2>&1 || { cat $(XS_DIR)/peer.log >&2; exit 1; }
	@touch $@
endif

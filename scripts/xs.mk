# The JavaScript engine XS, from the sources inside npm's @agoric/xsnap. It is
# fetched by exact version, its hash is checked, and it is compiled once with
# that package's own release makefile, so that computrons and snapshots are
# xsnap's. The package's xsnap-worker comes out of it too, as the peer that
# tests and benchmarks compare with.

XS_VERSION := 0.15.0
XS_INTEGRITY := sha512-ZBm4DZxbtfacxMHVVdJjZi0Y8zOxN77vpu1WwI5RWfPkaRh0aHkz/dVdTGKXalDNzWfz183lljKxlxl3/h0n+A==
XS_DIR := build/xs
XS_PACKAGE := $(XS_DIR)/package
XS_TMP := $(XS_PACKAGE)/xsnap-native/xsnap/build/tmp/lin/release/xsnap-worker
XS_ARCHIVE := $(XS_DIR)/libxs.a
XSNAP_WORKER := $(XS_PACKAGE)/xsnap-native/xsnap/build/bin/lin/release/xsnap-worker

# Its asserts hold the names of files. With those of this folder in them, the worker's
# instruction counts would depend on where it was built.
XS_CC := gcc -ffile-prefix-map=$(abspath $(XS_PACKAGE))=xsnap

# What xsnap-worker.mk gives each of its files, for ours that include xs.h.
XS_CFLAGS := \
	-DINCLUDE_XSPLATFORM -DXSPLATFORM='"xsnapPlatform.h"' -DXSNAP_VERSION='"$(XS_VERSION)"' \
	-DmxLockdown=1 -DmxMetering=1 -DmxDebug=1 -DmxNoConsole=1 -DmxBoundsCheck=1 -DmxParse=1 \
	-DmxRun=1 -DmxSloppy=1 -DmxSnapshot=1 -DmxRegExpUnicodePropertyEscapes=1 \
	-DmxStringNormalize=1 -DmxMinusZero=1 \
	-isystem $(XS_PACKAGE)/moddable/xs/includes -isystem $(XS_PACKAGE)/moddable/xs/platforms \
	-isystem $(XS_PACKAGE)/moddable/xs/sources -isystem $(XS_PACKAGE)/xsnap-native/xsnap/sources

$(XS_DIR)/fetched: scripts/xs.mk
	@scripts/fetch-npm @agoric/xsnap $(XS_VERSION) $(XS_INTEGRITY) $(XS_DIR)
	@touch $@

# The files that take the time are compiled once more for the worker, with small functions inline
# (worker/xs/xs_inline.h). Not xsMemory.c, where some of these are defined.
XS_INLINED := xsAPI xsArray xsDataView xsFunction xsGlobal xsJSON xsLockdown xsMapSet xsNumber xsObject \
	xsPromise xsProperty xsProxy xsRegExp xsString xsSymbol xsType
XS_HEADERS := $(addprefix worker/xs/,xs_inline.h xs_interpreter.h xs_jump.h xs_next.h) \
	$(addprefix worker/xs/garbage/,xs_long_array.h xs_sweep.h)
XS_WORKER := $(XS_DIR)/worker
XS_INLINED_CC := $(XS_CC) -iquote $(CURDIR) -include $(abspath worker/xs/xs_inline.h) \
	-include $(abspath worker/xs/garbage/xs_long_array.h)

# So is the interpreter, with a setjmp() that leaves gcc its registers (worker/xs/xs_jump.h), and with direct
# jumps to what mostly follows (worker/xs/xs_interpreter.h). Computing anything ahead, before one
# instruction of JavaScript for all that may follow, takes registers and a larger frame: gcc's own advice
# for code that jumps to labels is -fno-gcse.
XS_INTERPRETER_CC := $(XS_CC) -iquote $(CURDIR) -include $(abspath worker/xs/xs_jump.h) \
	-include $(abspath worker/xs/xs_inline.h) -include $(abspath worker/xs/xs_interpreter.h) -mno-red-zone \
	-fno-ira-share-spill-slots -fno-ira-share-save-slots -fno-gcse -fno-tree-pre

# Garbage collection calls a sweep of ours (worker/xs/garbage/xs_sweep.c), and marks what arrays have behind their
# lengths (worker/xs/garbage/xs_long_array.h).
XS_MEMORY := xsMemory xsSnapshot
XS_MEMORY_CC := $(XS_CC) -iquote $(CURDIR) -include $(abspath worker/xs/garbage/xs_sweep.h) \
	-include $(abspath worker/xs/garbage/xs_long_array.h) -D_GNU_SOURCE -Wno-unused-function

xs_make = $(MAKE) --no-print-directory -C $(XS_PACKAGE)/xsnap-native/xsnap/makefiles/lin \
	-f xsnap-worker.mk GOAL=release XSNAP_VERSION=$(XS_VERSION) \
	MODDABLE=$(abspath $(XS_PACKAGE)/moddable)

# A metered worker's archive is made in scripts/meter.mk, before make is called for the rest of it.
ifeq ($(METERED_WORKER_OF),)
$(XS_ARCHIVE): $(XS_DIR)/fetched $(XS_HEADERS)
	@echo 'xs       compiling the engine, once'
	@rm -rf $(XS_WORKER) && mkdir -p $(XS_WORKER)
	@{ $(xs_make) CC='$(XS_CC)' && \
		$(xs_make) CC='$(XS_INLINED_CC)' TMP_DIR=$(abspath $(XS_WORKER)) \
			$(XS_INLINED:%=$(abspath $(XS_WORKER))/%.o) && \
		$(xs_make) CC='$(XS_INTERPRETER_CC)' TMP_DIR=$(abspath $(XS_WORKER)) \
			$(abspath $(XS_WORKER))/xsRun.o && \
		$(xs_make) CC='$(XS_MEMORY_CC)' TMP_DIR=$(abspath $(XS_WORKER)) \
			$(XS_MEMORY:%=$(abspath $(XS_WORKER))/%.o); } > $(XS_DIR)/compile.log 2>&1 \
		|| { cat $(XS_DIR)/compile.log >&2; exit 1; }
	@rm -f $@
	@ar rcs $@ $(XS_WORKER)/*.o $$(find $(XS_TMP) -name '*.o' \
		$(patsubst %,! -name %.o,xsnap-worker xsRun $(XS_MEMORY) $(XS_INLINED)) | LC_ALL=C sort)
endif

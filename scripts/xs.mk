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

$(XS_ARCHIVE): $(XS_DIR)/fetched
	@echo 'xs       compiling the engine, once'
	@$(MAKE) --no-print-directory -C $(XS_PACKAGE)/xsnap-native/xsnap/makefiles/lin \
		-f xsnap-worker.mk GOAL=release CC='$(XS_CC)' XSNAP_VERSION=$(XS_VERSION) \
		MODDABLE=$(abspath $(XS_PACKAGE)/moddable) > $(XS_DIR)/compile.log 2>&1 \
		|| { cat $(XS_DIR)/compile.log >&2; exit 1; }
	@rm -f $@
	@ar rcs $@ \
		$$(find $(XS_TMP) -name '*.o' ! -name xsnap-worker.o | LC_ALL=C sort)

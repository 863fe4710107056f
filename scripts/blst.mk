# blst, which computes with points of BLS12-381 for contracts of NEAR, from the sources inside npm's
# @chainsafe/blst, fetched by exact version and checked by hash.

BLST_VERSION := 0.2.11
BLST_INTEGRITY := sha512-URyOLq5GtxBoxibOnd2pgLydCy0UZzbiIIBcsRAvGxAsRzjZL04TsQfwRkz5aphU3a1ebeRoMmI/HHyMCiFSQg==
BLST_DIR := build/blst
BLST_SOURCES := $(BLST_DIR)/package/blst
BLST_ARCHIVE := $(BLST_DIR)/libblst.a
BLST_CFLAGS := -isystem $(BLST_SOURCES)/bindings

$(BLST_DIR)/fetched: scripts/blst.mk
	@scripts/fetch-npm @chainsafe/blst $(BLST_VERSION) $(BLST_INTEGRITY) $(BLST_DIR)
	@touch $@

# Without __ADX__ and __BLST_PORTABLE__ its assembly is for any x86-64 and asks for no CPU feature, so every
# machine executes the same instructions. It is not metered, as other libraries that hash and verify.
$(BLST_ARCHIVE): $(BLST_DIR)/fetched
	@echo 'blst     compiling the curve, once'
	@rm -f $@
	@gcc -O2 -fno-builtin -fPIC -w -ffile-prefix-map=$(abspath $(BLST_DIR))=blst -c $(BLST_SOURCES)/src/server.c -o $(BLST_DIR)/server.o
	@gcc -fPIC -c $(BLST_SOURCES)/build/assembly.S -o $(BLST_DIR)/assembly.o
	@ar rcs $@ $(BLST_DIR)/server.o $(BLST_DIR)/assembly.o

# SPDX-License-Identifier: Apache-2.0
# Compiles musl with the meter, for gaspipe-cc --musl: called by scripts/meter.mk, with
#   MUSL     musl's source directory
#   MACHINE  x86_64 or aarch64
#   INTO     where lib/ and include/ go
#   METER    gaspipe-meter
#
# So that it counts the same on each machine, both have the C functions, the same system calls (those of
# aarch64, the newer kernel interface), one `long double`, and what stands in arch/ and bits/ here.

HERE := $(dir $(lastword $(MAKEFILE_LIST)))
TARGET := $(MACHINE)-linux-gnu
OBJ := $(INTO)/obj
HEADERS := $(INTO)/headers-made
COSTS := $(INTO)/costs.table

# Assembly for what C cannot express.
ASSEMBLY := $(foreach part,fenv setjmp signal thread,$(wildcard $(MUSL)/src/$(part)/$(MACHINE)/*.s))
SOURCES := $(wildcard $(MUSL)/src/*/*.c $(MUSL)/src/malloc/mallocng/*.c)
stems = $(patsubst $(MUSL)/src/%,%,$(basename $(1)))
REPLACED := $(subst /$(MACHINE)/,/,$(call stems,$(ASSEMBLY)))
C_STEMS := $(filter-out $(REPLACED),$(call stems,$(SOURCES)))

# Not metered:
# - what runs before thread-local storage is there;
# - what waits for other threads, for as long as it takes;
# - what the optimiser puts calls of into other code as it likes: these are charged by bytes where
#   the source calls them, and so is errno's place;
# - what the run-time part of the meter calls itself.
UNMETERED := env/__libc_start_main env/__init_tls env/__stack_chk_fail \
	$(filter thread/%,$(C_STEMS)) stdio/__lockfile \
	string/memcpy string/memmove string/memset errno/__errno_location \
	misc/syscall unistd/getpid unistd/_exit exit/_Exit

OBJECTS := $(patsubst %,$(OBJ)/%.o,$(C_STEMS) $(call stems,$(ASSEMBLY))) $(OBJ)/system_call.o
CRT := $(patsubst %,$(INTO)/lib/%.o,crt1 crti crtn)
EMPTY := $(patsubst %,$(INTO)/lib/lib%.a,m rt pthread crypt util xnet resolv dl)

CC := clang-19 --target=$(TARGET)
ARCH_FLAGS := $(if $(filter aarch64,$(MACHINE)),-mno-outline-atomics -U__FP_FAST_FMA -U__FP_FAST_FMAF)
INCLUDES := -I$(INTO)/arch -I$(INTO)/internal -I$(MUSL)/src/include -I$(MUSL)/src/internal \
	-I$(INTO)/include
FLAGS := -std=c99 -nostdinc -ffreestanding -fno-builtin -D_XOPEN_SOURCE=700 -fno-strict-aliasing -w -O2 \
	-fno-pic -fno-pie -fno-stack-protector -fomit-frame-pointer -fno-unwind-tables \
	-fno-asynchronous-unwind-tables -Xclang -mlong-double-64 -ffp-contract=off -fsigned-char \
	-fno-math-errno -fno-aapcs-bitfield-width $(ARCH_FLAGS) $(INCLUDES)
FRONT := -Xclang -disable-llvm-passes -emit-llvm -fno-discard-value-names

# musl's assembly does not say that it runs on no stack.
ASSEMBLE = $(CC) -Wa,--noexecstack -c $< -o $@

.PHONY: all
all: $(INTO)/lib/libc.a $(CRT) $(EMPTY)

# Only the system calls that both machines have; aarch64's types of 32 bits in `struct stat` as on x86-64.
$(HEADERS): $(wildcard $(HERE)*/*.h) $(HERE)musl.mk
	rm -rf $(INTO)/include $(INTO)/arch
	mkdir -p $(INTO)/arch $(INTO)/internal $(INTO)/lib
	cp -r $(MUSL)/include $(INTO)/include
	cp -r $(MUSL)/arch/generic/. $(MUSL)/arch/$(MACHINE)/. $(HERE)arch/. $(INTO)/arch
	cp $(HERE)bits/* $(INTO)/arch/bits
ifeq ($(MACHINE),aarch64)
	sed -i '/ blksize_t;/d; / nlink_t;/d' $(INTO)/arch/bits/alltypes.h.in
	sed -i 's/nlink_t/unsigned int/; s/blksize_t/int/' $(INTO)/arch/kstat.h
endif
	rm -f $(INTO)/arch/bits/limits.h && cp $(MUSL)/arch/generic/bits/limits.h $(INTO)/arch/bits
	cd $(INTO)/arch/bits && sed -f $(abspath $(MUSL))/tools/mkalltypes.sed alltypes.h.in \
		$(abspath $(MUSL))/include/alltypes.h.in > alltypes.h
	awk 'NR == FNR { known[$$2] = 1; next } $$2 in known' $(MUSL)/arch/aarch64/bits/syscall.h.in \
		$(MUSL)/arch/$(MACHINE)/bits/syscall.h.in > $(INTO)/arch/bits/syscall.h
	sed -n 's/__NR_/SYS_/p' $(INTO)/arch/bits/syscall.h > $(INTO)/sys && \
		cat $(INTO)/sys >> $(INTO)/arch/bits/syscall.h && rm $(INTO)/sys
	rm -rf $(INTO)/include/bits && cp -r $(INTO)/arch/bits $(INTO)/include/bits
	printf '#define VERSION "%s"\n' "$$(cat $(MUSL)/VERSION)" > $(INTO)/internal/version.h
	touch $@

# As the default, but for functions that are compiled with the meter here: of these, calls cost what they do.
$(COSTS): $(METER)
	@mkdir -p $(@D)
	$(METER) --print-costs | awk '$$1 == "call" && $$2 !~ /^(memcpy|memmove|memset|__errno_location)$$/ { next } \
		$$2 ~ /^llvm\.(fma|fmuladd|minnum|maxnum)\.$$/ || ($$1 == "intrinsic" && $$3 >= 4 && $$2 != "llvm.sqrt.") { next } { print } END { print "intrinsic llvm.thread.pointer 0" }' > $@

# How the driver calls the front end, without the names of files: that compiles many in one process, the driver
# one. Of musl's small files most of the time would be loading LLVM.
FRONT_END := $(INTO)/front-end
$(FRONT_END): $(HEADERS)
	$(CC) $(FLAGS) $(FRONT) -c -x c /dev/null -o - '-###' 2>&1 | \
		sed -n '$$s|"-main-file-name" "null" \(.*\) "-o" "-" "-x" "c" "/dev/null"$$|\1|p' > $@
	grep -q -- '"-cc1"' $@

# The other sources are compiled per directory.
CHANGED := malloc/calloc malloc/mallocng/free malloc/mallocng/malloc
OWN_FLAGS := process/posix_spawn
BY_DIRECTORY := $(filter-out $(UNMETERED) $(CHANGED) $(OWN_FLAGS),$(C_STEMS))
DIRECTORYS := $(sort $(patsubst %/,%,$(dir $(BY_DIRECTORY))))

# The metered objects of a directory. Copies its sources, because the front end writes next to them.
define directory_rule
IN_$(1) := $(patsubst $(1)/%,%,$(foreach stem,$(BY_DIRECTORY),$(if $(filter $(1)/,$(dir $(stem))),$(stem))))
$(OBJ)/$(1)/made: $(wildcard $(MUSL)/src/$(1)/*.[ch]) $(FRONT_END) $(COSTS) $(METER)
	mkdir -p $$(@D)/source
	cp $(wildcard $(MUSL)/src/$(1)/*.[ch]) $$(@D)/source
	eval "$$$$(cat $(FRONT_END)) $$(IN_$(1):%=$$(@D)/source/%.c)"
	$(METER) -O 2 --costs $(COSTS) -o $$(@D)/ $$(IN_$(1):%=$$(@D)/source/%.bc)
	rm -r $$(@D)/source
	touch $$@
endef
$(foreach directory,$(DIRECTORYS),$(eval $(call directory_rule,$(directory))))

# One that has flags of its own.
define metered
$(CC) $(FLAGS) $(FRONT) -c $< -o $(basename $@).bc && \
$(METER) -O 2 --costs $(COSTS) -o $@ $(basename $@).bc && rm $(basename $@).bc
endef

$(OBJ)/%.o: $(MUSL)/src/%.c $(HEADERS) $(COSTS) $(METER)
	@mkdir -p $(@D)
	$(if $(filter $(UNMETERED),$*),$(CC) $(FLAGS) -c $< -o $@,$(metered))

# The child shares its parent's memory until it executes a program; its units must not count for the parent.
$(OBJ)/process/posix_spawn.o: FLAGS += -D__clone=gasmeter_call_clone

# The originals go another way where addresses, the kernel or what memory held before differ.
$(CHANGED:%=$(OBJ)/%.o): FLAGS += -I$(MUSL)/src/malloc/mallocng
$(CHANGED:%=$(OBJ)/%.o): $(OBJ)/%.o: $(INTO)/changed/%.c $(HEADERS) $(COSTS) $(METER)
	@mkdir -p $(@D)
	$(metered)

$(INTO)/changed/%.c: $(MUSL)/src/%.c $(wildcard $(HERE)changes/*) $(HEADERS)
	@mkdir -p $(@D)
	sed -f $(HERE)changes/$(notdir $*).sed $< > $@
	! cmp -s $< $@

$(OBJ)/%.o: $(MUSL)/src/%.s
	@mkdir -p $(@D)
	$(ASSEMBLE)

$(OBJ)/system_call.o: $(HERE)$(MACHINE)/system_call.s
	@mkdir -p $(@D)
	$(ASSEMBLE)

$(INTO)/lib/crt1.o: $(MUSL)/crt/crt1.c $(HEADERS)
	$(CC) $(FLAGS) -DCRT -c $< -o $@

$(INTO)/lib/%.o: $(MUSL)/crt/$(MACHINE)/%.s $(HEADERS)
	$(ASSEMBLE)

$(INTO)/lib/libc.a: $(DIRECTORYS:%=$(OBJ)/%/made) $(filter-out $(BY_DIRECTORY:%=$(OBJ)/%.o),$(OBJECTS))
	rm -f $@
	ar rcs $@ $(OBJECTS)

$(EMPTY): $(HEADERS)
	rm -f $@
	ar rc $@

# gaspipe. `make demo` and `make check` are all that a newcomer types; `make help`
# lists the rest.

VERSION := $(shell cat VERSION)
# SAN=address,undefined builds and tests everything under those sanitizers.
SAN ?=
comma := ,
BUILD := build$(if $(SAN),/san-$(subst $(comma),-,$(SAN)))

CC ?= gcc
WARNINGS := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes
OPTIMIZE ?= $(if $(SAN),-O1 -fno-omit-frame-pointer,-O2)
CFLAGS ?= -g
PACKAGES := libuv jansson sqlite3 libcrypto libzstd zlib libisal

# Expanded only in recipes: pkg-config may not be there before `make setup` ran.
PACKAGE_CFLAGS = $(shell pkg-config --cflags $(PACKAGES))
PACKAGE_LIBS = $(shell pkg-config --libs $(PACKAGES))
GASPIPE_CFLAGS = -std=gnu17 -I. $(WARNINGS) $(OPTIMIZE) -fno-common \
	$(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all) \
	-D_GNU_SOURCE -DGASPIPE_VERSION='"$(VERSION)"'

include scripts/xs.mk

# A room's archive holds all of its files but the one with main().
MAINS := supervisor/main.c worker/main.c tools/slogreport.c
ROOMS := base proto slog worker supervisor tools
room_sources = $(filter-out $(MAINS),$(wildcard $(1)/*.c))
ARCHIVES := $(foreach room,$(ROOMS),$(BUILD)/lib/$(room).a)

PROGRAMS := $(BUILD)/gaspipe $(BUILD)/gaspipe-worker $(BUILD)/slogreport $(BUILD)/libgascount.so

.PHONY: all setup demo check unit program fuzz lint golden bench install clean help
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all
all: $(PROGRAMS)

help:
	@echo 'make demo       install what is missing, build, run the examples and report'
	@echo 'make check      install what is missing, build, run all tests'
	@echo 'make            build into build/'
	@echo 'make lint       layout, includes, clang-tidy, cppcheck, shellcheck'
	@echo 'make unit       the unit tests only'
	@echo 'make program    the whole-program tests only'
	@echo 'make fuzz       fuzz for SECONDS=30 each'
	@echo 'make golden     write the expected outputs of the tests anew'
	@echo 'make bench      the benchmarks of docs/benchmarks.md'
	@echo 'make install    into PREFIX=/usr/local'
	@echo 'SAN=address,undefined CC=clang OPTIMIZE=-O3 V=1 change how it is built'

Q := $(if $(V),,@)
say = $(if $(V),,@printf '%-8s %s\n' '$(1)' '$(2)')

# ---- compiling ------------------------------------------------------------

# Objects are made anew when the compiler or its flags change.
FLAGS_FILE := $(BUILD)/flags
$(FLAGS_FILE): FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(subst ','\'',$(GASPIPE_CFLAGS)) $(CFLAGS)' > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
.PHONY: FORCE
FORCE:

$(BUILD)/obj/%.o: %.c $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(call say,cc,$<)
	$(Q)$(CC) $(GASPIPE_CFLAGS) $(ROOM_CFLAGS) $(CFLAGS) $(PACKAGE_CFLAGS) -MMD -MP -c $< -o $@

# The engine's files see XS's headers, with the defines that XS was compiled with.
$(BUILD)/obj/worker/engine_xs.o: ROOM_CFLAGS = $(XS_CFLAGS)
$(BUILD)/obj/worker/engine_xs.o: $(XS_ARCHIVE)

# Contract runtimes are carried inside the programs.
$(BUILD)/obj/supervisor/runtime.o: $(wildcard runtime/*.js)

define archive_rule
$(BUILD)/lib/$(1).a: $(patsubst %.c,$(BUILD)/obj/%.o,$(call room_sources,$(1)))
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(Q)ar rcs $$@ $$^
endef
$(foreach room,$(ROOMS),$(eval $(call archive_rule,$(room))))

lib = $(foreach room,$(1),$(BUILD)/lib/$(room).a)
link = $(Q)$(CC) $(GASPIPE_CFLAGS) $(CFLAGS) $(LDFLAGS) $(filter %.o,$^) $(filter-out $(XS_ARCHIVE),$(filter %.a,$^))

$(BUILD)/gaspipe: $(BUILD)/obj/supervisor/main.o $(call lib,supervisor proto slog base)
	$(call say,link,$@)
	$(link) $(PACKAGE_LIBS) -o $@

$(BUILD)/gaspipe-worker: $(BUILD)/obj/worker/main.o $(call lib,worker proto base) $(XS_ARCHIVE)
	$(call say,link,$@)
	$(link) $(XS_ARCHIVE) -lm -ldl -lpthread -o $@

$(BUILD)/slogreport: $(BUILD)/obj/tools/slogreport.o $(call lib,tools slog base)
	$(call say,link,$@)
	$(link) $(PACKAGE_LIBS) -lm -lpthread -o $@

# The plugin is loaded into QEMU, which is not sanitized.
$(BUILD)/libgascount.so: $(wildcard counter/*.c counter/*.h) $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(call say,plugin,$@)
	$(Q)$(CC) -std=gnu17 -I. $(WARNINGS) -O2 -D_GNU_SOURCE $(CFLAGS) -fPIC -shared \
		$(filter %.c,$^) -o $@

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

# ---- set-up -----------------------------------------------------------------

# Says what it installs before it does; does nothing where nothing is missing.
setup:
	@scripts/setup

# ---- tests --------------------------------------------------------------------

UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/test_*.c))

$(BUILD)/tests/%: $(BUILD)/obj/tests/unit/%.o $(ARCHIVES) $(XS_ARCHIVE)
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(link) -Wl,--start-group $(ARCHIVES) -Wl,--end-group $(XS_ARCHIVE) \
		$(PACKAGE_LIBS) -lcmocka -lm -ldl -lpthread -o $@

.SECONDARY:

check: setup
	@$(MAKE) --no-print-directory tests

.PHONY: tests
tests: all $(UNIT_TESTS)
	@BUILD=$(BUILD) scripts/run-tests unit program

unit: $(UNIT_TESTS)
	@BUILD=$(BUILD) scripts/run-tests unit

program: all
	@BUILD=$(BUILD) scripts/run-tests program

lint:
	@scripts/lint

demo: setup
	@$(MAKE) --no-print-directory all
	@scripts/demo

clean:
	rm -rf build

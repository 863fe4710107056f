# The suites of gaspipe estimate, ready to be run: suites/NAME with its modules compiled.

SUITES := $(patsubst %/suite.json,$(BUILD)/%,$(wildcard suites/*/suite.json))
SUITE_MODULES := $(patsubst %.wat,$(BUILD)/%.wasm,$(filter-out %/method.wat %/load.wat,$(wildcard suites/*/*.wat))) \
	$(patsubst %,$(BUILD)/suites/near/load-%.wasm,16 64 256)
SUITE_FILES := $(patsubst %,$(BUILD)/%,$(wildcard suites/*/suite.json suites/*/*.js))

.PHONY: suites
suites: $(SUITE_MODULES) $(SUITE_FILES)

# Modules are text with macros of the C preprocessor.
assemble = @mkdir -p $(@D) && cpp -P -nostdinc $(1) $< > $@.wat && wat2wasm $@.wat -o $@

$(BUILD)/suites/%.wasm: suites/%.wat suites/near/method.wat
	$(call say,wat,$@)
	$(call assemble,)

# load-N has N functions.
LOAD_16 := X16(ONE)
LOAD_64 := X4(X16(ONE))
LOAD_256 := X16(X16(ONE))
$(BUILD)/suites/near/load-%.wasm: suites/near/load.wat suites/near/method.wat
	$(call say,wat,$@)
	$(call assemble,-D'FUNCTIONS=$(LOAD_$*)')

$(BUILD)/suites/%: suites/%
	@mkdir -p $(@D)
	@cp $< $@

# Bundles of vats that run under liveslots: SwingSet's own vats for creating vats and for
# the clock, those of the examples, and those of the tests. npm's @endo/bundle-source makes
# them; examples/package-lock.json pins it and everything else fetched for vats, with
# integrity hashes. Install scripts do not run. The same sources give the same bundles
# everywhere.

VATS_DIR := build/vats
VAT_GROUPS := swingset exchange tests
VAT_BUNDLES := $(VAT_GROUPS:%=$(VATS_DIR)/%/made)

VAT_SOURCES_exchange := $(wildcard examples/exchange/*.js)
VAT_SOURCES_tests := $(wildcard tests/swingset/vats/*.js)

$(VATS_DIR)/fetched: examples/package.json examples/package-lock.json
	@command -v node > /dev/null && command -v npm > /dev/null || { \
		echo 'vats: node or npm is missing, which bundling vats requires; scripts/setup installs both' >&2; \
		exit 4; }
	@echo 'npm      fetching what examples/package-lock.json pins'
	@mkdir -p $(@D)
	@cp examples/package.json examples/package-lock.json $(@D)
	@cd $(@D) && npm ci --ignore-scripts --no-audit --no-fund > fetch.log 2>&1 \
		|| { cat fetch.log >&2; exit 4; }
	@touch $@

bundle_vats = $(Q)node scripts/bundle-vats.mjs $(VATS_DIR)/node_modules $(@D)
SWINGSET_VATS := $(VATS_DIR)/node_modules/@agoric/swingset-vat/src/vats

$(VATS_DIR)/swingset/made: $(VATS_DIR)/fetched scripts/bundle-vats.mjs
	$(call say,bundle,vats of SwingSet)
	$(bundle_vats) $(SWINGSET_VATS)/vat-admin/vat-vat-admin.js $(SWINGSET_VATS)/timer/vat-timer.js
	@touch $@

# Imports of packages are resolved in parent directories, so vats are copied to where the
# packages were fetched.
define vat_group_rule
$(VATS_DIR)/$(1)/made: $(VATS_DIR)/fetched scripts/bundle-vats.mjs $(VAT_SOURCES_$(1))
	$$(call say,bundle,vats of $(1))
	@rm -rf $(VATS_DIR)/source/$(1) $$(@D)
	@mkdir -p $(VATS_DIR)/source/$(1)
	@cp $(VAT_SOURCES_$(1)) $(VATS_DIR)/source/$(1)
	$$(bundle_vats) $(VATS_DIR)/source/$(1)/*.js
	@touch $$@
endef
$(foreach group,exchange tests,$(eval $(call vat_group_rule,$(group))))

.PHONY: vats
vats: $(VAT_BUNDLES)

# SwingSet's kernel, with which tests compare gaspipe's, needs a package that is compiled for its
# store. Node's headers come with node, or are in Debian's libnode-dev.
NODE_PREFIX = $(patsubst %/bin/node,%,$(realpath $(shell command -v node)))
# SQLite takes more than a minute with npm's own -O3. Tests use -O1, which takes less than
# half of it; benchmarks have it made as npm makes it.
SWINGSET_KERNEL := $(VATS_DIR)/kernel
ifeq ($(if $(filter check-npm,$(MAKECMDGOALS)),$(wildcard $(SWINGSET_KERNEL)),else),)
SWINGSET_KERNEL := $(VATS_DIR)/kernel-quick
endif

$(VATS_DIR)/kernel $(VATS_DIR)/kernel-quick: $(VATS_DIR)/fetched
	@[ -e $(NODE_PREFIX)/include/node/node.h ] || { \
		echo 'vats: $(NODE_PREFIX)/include/node has no node headers; Debian has them in libnode-dev' >&2; \
		exit 4; }
	@echo 'compile  better-sqlite3, for the store of the SwingSet kernel'
	@rm -f $(VATS_DIR)/kernel-quick
	@cd $(VATS_DIR) && $(if $(filter %-quick,$@),CFLAGS=-O1 CXXFLAGS=-O1) npm_config_build_from_source=true npm_config_nodedir=$(NODE_PREFIX) \
		npm rebuild better-sqlite3 > rebuild.log 2>&1 || { cat rebuild.log >&2; exit 4; }
	@touch $@

# A long run of the exchange example.
.PHONY: exchange
exchange: all $(VAT_BUNDLES)
	@BUILD=$(BUILD) examples/exchange/run 1000 --counter none

# The client for Node, in the place of npm's @agoric/xsnap (docs/swingset.md): a package with
# the addon, the worker, and the sources from which node-gyp makes the addon again.

NODE_PACKAGE := $(BUILD)/node/package
NODE_SCRIPTS := node/api.js node/index.d.ts $(wildcard node/src/*.js)
NODE_ADDON := $(wildcard node/addon/*.c) proto/netstring.c base/buf.c base/text/format.c base/error.c base/stamp.c
NODE_ADDON_HEADERS := $(wildcard node/addon/*.h) proto/netstring.h base/buf.h base/text/format.h base/error.h base/stamp.h

NODE_ADDON_CFLAGS = -isystem $(NODE_PREFIX)/include/node -DNAPI_VERSION=8 \
	-DNODE_GYP_MODULE_NAME=gaspipe_channel -Wno-missing-prototypes
$(BUILD)/obj/node/%: ROOM_CFLAGS = $(NODE_ADDON_CFLAGS)
HAVE_NODE_HEADERS := $(wildcard $(NODE_PREFIX)/include/node/node_api.h)

.PHONY: node
node: $(NODE_PACKAGE)/channel.node

$(NODE_PACKAGE)/channel.node: $(NODE_ADDON) $(NODE_ADDON_HEADERS) $(NODE_SCRIPTS) node/package.json \
		node/binding.gyp $(BUILD)/gaspipe-worker $(FLAGS_FILE)
	@[ -n "$(HAVE_NODE_HEADERS)" ] || { \
		echo 'node: $(NODE_PREFIX)/include/node has no node_api.h; Debian has it in libnode-dev' >&2; \
		exit 4; }
	$(call say,node,$(@D))
	@rm -rf $(@D) && mkdir -p $(@D)/src $(@D)/bin $(@D)/sources
	@cp node/api.js node/index.d.ts node/binding.gyp $(@D)
	@cp node/src/*.js $(@D)/src
	@cp $(BUILD)/gaspipe-worker $(@D)/bin
	@cp --parents $(NODE_ADDON) $(NODE_ADDON_HEADERS) $(@D)/sources
	@sed 's/"0\.0\.0"/"$(VERSION)"/' node/package.json > $(@D)/package.json
	$(Q)$(CC) $(filter-out -fsanitize=%,$(GASPIPE_CFLAGS)) $(NODE_ADDON_CFLAGS) $(CFLAGS) -fPIC \
		-shared -fvisibility=hidden $(NODE_ADDON) -o $@

# SwingSet's kernel with our client in the place of npm's, for the tests.
NODE_KERNEL := $(BUILD)/node/swingset/made
$(NODE_KERNEL): $(SWINGSET_KERNEL) $(NODE_PACKAGE)/channel.node
	@rm -rf $(@D) && mkdir -p $(@D)
	@cp -al $(VATS_DIR)/node_modules $(@D)
	@rm -rf $(@D)/node_modules/@agoric/xsnap
	@cp -r $(NODE_PACKAGE) $(@D)/node_modules/@agoric/xsnap
	@touch $@

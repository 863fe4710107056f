# SwingSet's runtime for vats: the bundles that a worker evaluates before a vat's
# own (supervisor/runtime/vat_runtime.h). Fetched by exact version with their hashes
# checked, as the engine is (scripts/xs.mk); they lie next to the programs.

SWINGSET_DIR := build/swingset
LOCKDOWN_VERSION := 0.14.1
LOCKDOWN_INTEGRITY := sha512-UShRGUBBd1v19R4L6xdkHBfD/t32EsNoDHB9RFL9BrBUodia2KJVpQsOFRcU6t0k2YqD7J/Ngtmyh2VpuCktHw==
SUPERVISOR_VERSION := 0.11.0
SUPERVISOR_INTEGRITY := sha512-Nx6Z+O87VsHzLLZ8E+M4hSLrnXaRD05mkcH8PPelzJd70zym2UJZnS5xfvkhIVxu8FAVi9PgYkeyouLdKeP6rg==
SWINGSET_BUNDLES := $(BUILD)/swingset-lockdown.bundle $(BUILD)/swingset-supervisor.bundle

$(SWINGSET_DIR)/fetched: scripts/swingset.mk
	@scripts/fetch-npm @agoric/xsnap-lockdown $(LOCKDOWN_VERSION) \
		$(LOCKDOWN_INTEGRITY) $(SWINGSET_DIR)/lockdown
	@scripts/fetch-npm @agoric/swingset-xsnap-supervisor $(SUPERVISOR_VERSION) \
		$(SUPERVISOR_INTEGRITY) $(SWINGSET_DIR)/supervisor
	@touch $@

$(BUILD)/swingset-%.bundle: $(SWINGSET_DIR)/fetched
	@mkdir -p $(@D)
	@cp $(SWINGSET_DIR)/$*/package/dist/$*.bundle $@

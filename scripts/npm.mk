# npm packages that tests and benchmarks compare with, pinned with integrity hashes in
# tests/npm/package-lock.json. Their install scripts do not run, and gaspipe does not need
# them.

NPM_PEERS := build/npm/fetched
# Packages that tests/npm/packages.bats runs as contracts, with their own lock file.
NPM_CONTRACTS := build/npm-contracts/fetched

$(NPM_PEERS): tests/npm/package.json tests/npm/package-lock.json
$(NPM_CONTRACTS): tests/npm/packages/package.json tests/npm/packages/package-lock.json
$(NPM_PEERS) $(NPM_CONTRACTS):
	@echo 'npm      fetching what $(lastword $^) pins'
	@mkdir -p $(@D)
	@cp $^ $(@D)
	@cd $(@D) && npm ci --ignore-scripts --no-audit --no-fund > fetch.log 2>&1 \
		|| { cat fetch.log >&2; exit 4; }
	@touch $@

# Widely used packages as contracts, compared with node and between the counters.
.PHONY: packages
packages: all $(if $(HAVE_LLVM),metered) $(NPM_CONTRACTS)
	$(run_tests) tests/npm/packages.bats

# The compiler of AssemblyScript, contracts of NEAR's and its VM of 2021, from npm, for tests/npm/wasm.bats and
# mock_vm.bats.
WASM_PEERS := build/wasm-npm/fetched
WASM_PACKAGES := \
	assemblyscript=0.28.20=sha512-5PM7GZpvcLypHcLmi30aP8mqm5HjU+LL3BdV1xDyA3USGtL2w+iMiUnhtH+vW8+2kOuHlAyPu7M+QgyEw5he1g== \
	binaryen=131.0.0-nightly.20260721=sha512-AAQIkhfbYXh4FBObwBrlO+5L+6Rp6OOMOjh6AdT0M+GLNLyrwKWgtW+EzmizNgx9CWDfTJPfDtKoZi62QESbtg== \
	long=5.3.2=sha512-mNAgZ1GmyNhD7AuqnTG3/VQ26o760+ZYBPKjPvugO8+nLbYfX6TVpJPseBvopbdY+qpZ/lKUnmEc1LeZYS3QAA== \
	near-mock-vm=3.2.2=sha512-+jpwEVrJJ3hERMracfGAmvpwS5Yw9Ch1oRCLRD/7Ga/WBomR5RWnafAUr3lnBnswkkoTaKDLp5j/9EN3EVGELA== \
	near-sdk-simulator=3.2.1=sha512-ITAXyjDwYSDE6mD/q7SYk08NnQUCMe0UBB1gF9zkxicS+NKr6BIDNZ9JfHwKbaukvgZQGcsKUyd1v3luhePQaw== \
	near-workspaces=5.0.0=sha512-fktOa9A6gge8JPa+Gp6vMJSF3mE3H6dEMvVPTa0bXx9cNp142bAAderX8dZLtN1fYduPFkV3yb+OGM8V0d6JdA==

$(WASM_PEERS): scripts/npm.mk
	@for package in $(WASM_PACKAGES); do \
		name=$${package%%=*} rest=$${package#*=}; \
		scripts/fetch-npm $$name $${rest%%=*} $${rest#*=} $(@D)/$$name || exit; \
		mkdir -p $(@D)/node_modules && rm -rf $(@D)/node_modules/$$name && \
		mv $(@D)/$$name/package $(@D)/node_modules/$$name || exit; \
	done
	@touch $@

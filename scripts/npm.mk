# npm packages that tests and benchmarks compare with, pinned with integrity hashes in
# tests/npm/package-lock.json. Their install scripts do not run, and gaspipe does not need
# them.

NPM_PEERS := build/npm/fetched

$(NPM_PEERS): tests/npm/package.json tests/npm/package-lock.json
	@echo 'npm      fetching what tests/npm/package-lock.json pins'
	@mkdir -p $(@D)
	@cp tests/npm/package.json tests/npm/package-lock.json $(@D)
	@cd $(@D) && npm ci --ignore-scripts --no-audit --no-fund > fetch.log 2>&1 \
		|| { cat fetch.log >&2; exit 4; }
	@touch $@

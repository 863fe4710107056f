# Packages of npm that tests and benchmarks take as peers: what tests/npm/package-lock.json
# pins, each with its integrity hash. Nothing of them runs while they are installed,
# and nothing of gaspipe needs them.

NPM_PEERS := build/npm/fetched

$(NPM_PEERS): tests/npm/package.json tests/npm/package-lock.json
	@echo 'npm      fetching what tests/npm/package-lock.json pins'
	@mkdir -p $(@D)
	@cp tests/npm/package.json tests/npm/package-lock.json $(@D)
	@cd $(@D) && npm ci --ignore-scripts --no-audit --no-fund > fetch.log 2>&1 \
		|| { cat fetch.log >&2; exit 4; }
	@touch $@

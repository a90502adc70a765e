# Two commands do everything: `make run` and `make test`. `make help` lists the rest.

CARGO ?= cargo
PYTHON ?= python3
MINUTES ?= 2
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help run test crs e2e conformance conformance-blocking conformance-envoy conformance-traefik differential prefilter reference test-table fuzz bench bench-hostile bench-service bench-start bench-peers bench-proxies bench-tables clean

help: ## This list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-22s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: | rules/crs ## Get the CRS if it is not there, build, serve (ARGS='--set mode=detect')
	$(CARGO) run --release --locked --bin portcullis -- serve $(ARGS)

test: ## Everything .ci/run checks: format, lints, unit and integration tests, CRS conformance, real proxies, docs
	@$(PYTHON) tests/gate.py

crs: ## Fetch the OWASP Core Rule Set into rules/crs (CRS_SOURCE= names a folder or archive)
	rules/fetch-crs

# `make run` works without the CRS, on the built-in baseline rules; the server says so at its start.
rules/crs:
	-rules/fetch-crs

e2e: ## Only the tests with real Envoy, Traefik, nginx and Caddy
	@$(PYTHON) tests/gate.py e2e

conformance: ## Only the CRS regression tests, in process and through Envoy and Traefik
	@$(PYTHON) tests/gate.py conformance

conformance-blocking: ## The CRS regression tests in blocking mode, at every level and setting
	@$(PYTHON) tests/gate.py blocking

conformance-envoy: ## The CRS regression tests through a real Envoy
	@$(PYTHON) tests/gate.py conformance-envoy

conformance-traefik: ## The CRS regression tests through a real Traefik
	@$(PYTHON) tests/gate.py conformance-traefik

prefilter: ## The fast path against the plain one (ARGS='MUTATIONS SEED')
	$(CARGO) test --locked --release --test prefilter -- $(ARGS)

reference: ## @detectSQLi and @detectXSS against the C library on 1.5 M values (ARGS='--seed N')
	$(CARGO) test --locked --no-default-features --features reference --test libinjection -- $(ARGS)

test-table: ## Write the counts of the last `make test` into tests/README.md
	@$(PYTHON) tests/table.py --write

differential: ## Compare with libmodsecurity 3, all requests (what differs and why: tests/differential/README.md)
	$(CARGO) test --locked --features reference --test differential

fuzz: ## Fuzz each target (MINUTES=2 each; how and what: tests/fuzz/README.md)
	@tests/fuzz/run $(MINUTES)

bench: ## The engine: time and instructions, loading, hostile requests (what and how: benches/README.md)
	$(CARGO) bench --locked --bench evaluate -- $(ARGS)
	$(if $(ARGS),,$(MAKE) bench-hostile)

bench-hostile: ## Only the hostile requests: every shape, up to the limits (ARGS=WORD for some)
	$(CARGO) bench --locked --bench hostile -- $(ARGS)

bench-service: ## The doors: server CPU a check, beside a server that allows everything
	$(CARGO) bench --locked --bench transport -- $(ARGS)

bench-start: ## How soon the server is ready, and its memory then
	$(CARGO) build --release --locked --bin portcullis
	$(PYTHON) benches/start.py

bench-peers: ## Side by side with libmodsecurity 3 and zentinel-modsec (ARGS=--instructions counts by valgrind)
	$(CARGO) run --release --locked --manifest-path benches/peers/Cargo.toml --target-dir target -- $(ARGS)

bench-proxies: ## Whole systems: proxies without a WAF, with an allow-all authorizer, with Portcullis, with ModSecurity
	$(CARGO) build --release --locked --bin portcullis
	$(PYTHON) benches/proxies.py $(ARGS)
	$(PYTHON) benches/plot.py

bench-tables: ## Write the last figures of the benchmarks into benches/README.md
	@$(PYTHON) benches/tables.py $(ARGS)

clean: ## Remove everything that was built or fetched
	rm -rf .venv .cache rules/crs
	$(CARGO) clean

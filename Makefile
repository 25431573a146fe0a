# Builds, shows, tests and installs; README.md says what for.

CARGO ?= cargo
PREFIX ?= /usr/local
# Where cargo builds.
TARGET := $(or $(CARGO_TARGET_DIR),target)
VERSION := $(shell sed -n '/workspace.package/,/^$$/s/^version = "\(.*\)"/\1/p' Cargo.toml)
DESTDIR ?=
# Where Slurm looks for plug-ins: PluginDir of slurm.conf.
PLUGIN_DIR ?= $(shell for d in /usr/lib/$$(gcc -dumpmachine 2>/dev/null)/slurm-wlm \
	/usr/lib64/slurm /usr/lib/$$(gcc -dumpmachine 2>/dev/null)/slurm /usr/lib/slurm /usr/local/lib/slurm; do \
	[ -d $$d ] && { echo $$d; break; }; done)
# EPILOG=no leaves out slurm_spank_job_epilog, and with it one process per job and node.
EPILOG ?= yes
# The Lua of the worker: 5.4, 5.3, 5.1 or jit.
LUA ?= 5.4

ifeq ($(EPILOG),no)
PLUGIN_FLAGS = --no-default-features
endif
WORKER_FLAGS = --no-default-features --features lua$(subst .,,$(LUA))

.PHONY: all demo test test-full test-slurm check ring1 ring4 install bindings clean

all: ## builds the plug-in, the worker and the command
	.ci/install build
	$(CARGO) build --release -p spank-switch-lua $(PLUGIN_FLAGS)
	$(CARGO) build --release -p switch-lua-worker $(WORKER_FLAGS)
	$(CARGO) build --release -p spank-renice
	$(CARGO) build --release -p spank-tools --bin spank

demo: ## shows a job being set up, run and torn down on a real Slurm (as root)
	.ci/install test
	$(CARGO) build -q -p spank-switch-lua -p switch-lua-worker
	$(CARGO) run -q -p spank-tools --example demo

test: check ring1 ring4 ## every ring (as root)

test-full: test ## and what takes long: the whole table, the real-Slurm tests again and again under load
	$(CARGO) test -p spank-tools --test real_slurm probe::
	SPANK_FULL=1 $(CARGO) test -p spank-tools --test real_slurm every_row_of_the_observed_table
	for i in 1 2 3 4 5; do $(CARGO) test -p spank-tools --test real_slurm || exit 1; done

# The release of Debian whose Slurm test-slurm takes, and arguments of its tests: SUITE=sid ARGS=drains
SUITE ?= trixie

test-slurm: ## ring 4 on the Slurm of another release of Debian: SUITE=trixie (24.11) or SUITE=sid
	.ci/install suite
	.ci/suite test $(SUITE) $(ARGS)

check: ## form: formatting, lints, documentation, a build without Slurm's headers
	.ci/install test
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) clippy -p spank-switch-lua --no-default-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --quiet
	SPANK_SLURM_VERSION=22.05.8 $(CARGO) check -p spank-rs --no-default-features \
		--target-dir target/no-headers

ring1: ## unit, property and compile-fail tests, the worker, the command
	.ci/install test
	$(CARGO) test --workspace --exclude slurm-test-cluster --exclude spank-tools
	$(CARGO) test -p spank-tools --bins --test cli --test exports --test requirements --test tidy

ring4: ## the plug-ins on a real Slurm
	.ci/install test
	$(CARGO) test -p slurm-test-cluster
	$(CARGO) test -p spank-tools --test real_slurm -- --skip probe:: --skip table::

bindings: ## writes spank-sys/src/bindings/spank.rs anew (with Slurm 22.05's headers)
	$(CARGO) build -p spank-sys
	cp "$$(ls -t target/debug/build/spank-sys-*/out/bindings.rs | head -1)" spank-sys/src/bindings/spank.rs

# Files are put under other names first: a running daemon may load one at any moment.
install: all ## PLUGIN_DIR and PREFIX say where; existing configuration is left alone
	@[ -n "$(PLUGIN_DIR)" ] || { echo "no PluginDir found: make install PLUGIN_DIR=..." >&2; exit 1; }
	install -d $(DESTDIR)$(PLUGIN_DIR) $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/doc/spank
	install -m 755 $(TARGET)/release/switch-lua-worker $(DESTDIR)$(PLUGIN_DIR)/.switch-lua-worker.new
	mv -f $(DESTDIR)$(PLUGIN_DIR)/.switch-lua-worker.new \
		$(DESTDIR)$(PLUGIN_DIR)/switch-lua-worker-$(VERSION)
	install -m 644 $(TARGET)/release/libspank_switch_lua.so $(DESTDIR)$(PLUGIN_DIR)/.spank_switch_lua.new
	mv -f $(DESTDIR)$(PLUGIN_DIR)/.spank_switch_lua.new $(DESTDIR)$(PLUGIN_DIR)/spank_switch_lua.so
	install -m 644 $(TARGET)/release/libspank_renice.so $(DESTDIR)$(PLUGIN_DIR)/.spank_renice.new
	mv -f $(DESTDIR)$(PLUGIN_DIR)/.spank_renice.new $(DESTDIR)$(PLUGIN_DIR)/spank_renice.so
	install -m 755 $(TARGET)/release/spank $(DESTDIR)$(PREFIX)/bin/spank
	install -m 644 README.md SAFETY.md docs/switch-lua.md plugstack.conf.example \
		plugins/switch-lua/switch.lua.example LICENSE-MIT LICENSE-APACHE \
		$(DESTDIR)$(PREFIX)/share/doc/spank

clean:
	$(CARGO) clean

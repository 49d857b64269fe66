# Forwards only: Meson builds user space, Kbuild the kernel side. Everything here installs what it
# needs first, so that each target works on a bare Debian 12.
BUILD      ?= build
BUILD_SAN  ?= build-san
BUILD_TSAN ?= build-tsan
BUILD_CLANG ?= build-clang
# Other machines: 64 bits, 32 bits, and the other byte order.
ARCHES     ?= arm64 armhf s390x
# Warnings fail "make check"; WERROR=false for compilers that have new ones.
WERROR     ?= true
PREFIX     ?= /usr/local
DESTDIR    ?=

.PHONY: all check check-all mutate demo demo-fleet lab install clean clean-cache bench fuzz setup

all: setup
	@tools/build.sh "$(BUILD)"

ASAN = -Db_sanitize=address,undefined -Db_lundef=false -Dbuildtype=debugoptimized \
	-Dc_args=-fno-sanitize-recover=all
TSAN = -Db_sanitize=thread -Db_lundef=false -Dbuildtype=debugoptimized

check: setup
	@tools/cache.sh check
	@$(MAKE) --no-print-directory -j2 $(BUILDS)
	@python3 tests/run.py "$(BUILD)" "$(BUILD_SAN)" "$(BUILD_TSAN)" $(ARCHES:%=build-%); \
		status=$$?; [ $$status -gt 1 ] || tools/cache.sh checked; exit $$status

# Two at a time: to configure, and to link, takes one processor each.
BUILDS = check-plain check-san check-clang check-tsan $(ARCHES:%=check-%)
.PHONY: $(BUILDS)

check-plain:
	@tools/build.sh "$(BUILD)" -Dwerror=$(WERROR)

check-san:
	@tools/build.sh "$(BUILD_SAN)" -Dwerror=$(WERROR) $(ASAN)

check-clang:
	@CC=clang tools/build.sh "$(BUILD_CLANG)" -Dwerror=$(WERROR) -Doptimization=0

check-tsan:
	@TARGETS=threads tools/build.sh "$(BUILD_TSAN)" -Dwerror=$(WERROR) $(TSAN)

$(ARCHES:%=check-%): check-%:
	@tools/cross.sh $* build-$* -Dwerror=$(WERROR) -Doptimization=1

FLEET = $(BUILD)/kmemscope $(BUILD)/tests/fleet/fleetsim
# The long ones, too: all that can be emulated, and the matrix of kernels and architectures in guests, with the tables of
# README.md; leaks in a guest, and the counting kernel on x86-64, from its start and preemptible, and kernels that count
# calls, which take long to build; starts and kills of the live levels; of a fleet a cluster of databases, questions to today's engine, an upgrade to it, and
# 200 faults of each kind; fuzzing by libFuzzer; mutants. All of them run, whatever fails.
check-all:
	@tools/cache.sh check-all
	@tests/all.py "$(MAKE) check" \
		"tools/kernel-matrix --from $(BUILD)" \
		"python3 tests/run.py --emulate-all $(ARCHES:%=build-%)" \
		"tests/kernel/test-access.sh 6.12 x86_64 preempt" \
		"tests/kernel/test-stock-map.sh arm64" \
		"tests/kernel/test-live.sh 6.12 leaks" \
		"tests/kernel/test-live.sh 6.12 offline" \
		"tests/kernel/test-boot.sh 6.12 x86_64" \
		"tests/kernel/test-calls.sh 6.12 um" \
		"tests/kernel/test-calls.sh 6.1 um" \
		"tests/kernel/test-calls.sh 6.12 x86_64" \
		tests/kernel/test-witness.sh \
		tests/packages/again.sh \
		"KMEMSCOPE=\"\$$PWD/$(BUILD)/kmemscope\" tests/cli/live-kills.sh" \
		"tests/fleet/cluster.py $(FLEET)" \
		"ENGINE=chdb tests/fleet/questions.py $(FLEET)" \
		"tests/fleet/upgrade.py $(FLEET)" \
		"FAULTS=200 tests/fleet/agent.py $(FLEET)" \
		"FAULTS=200 tests/fleet/relay.py $(FLEET)" \
		"FAULTS=200 tests/fleet/network.py $(FLEET)" \
		tests/fuzz/run.sh \
		tests/mutate/mutate.py

mutate: setup
	@tests/mutate/mutate.py

demo: all
	@tools/demo.sh "$(BUILD)"

demo-fleet: all
	@tests/fleet/demo.py "$(BUILD)/kmemscope" "$(BUILD)/tests/fleet/fleetsim"

lab: all
	@tools/cache.sh lab
	@tools/lab.sh "$(BUILD)"

install: all
	@meson configure "$(BUILD)" -Dprefix="$(PREFIX)"
	@DESTDIR="$(DESTDIR)" meson install -C "$(BUILD)"

bench: all
	@tests/bench/run.sh "$(BUILD)"

fuzz: setup
	@tests/fuzz/run.sh

clean:
	rm -rf "$(BUILD)" "$(BUILD_SAN)" "$(BUILD_TSAN)" "$(BUILD_CLANG)" build-fuzz build-recorder* $(ARCHES:%=build-%) demo-out lab-out

# Kernels and libraries that tests and the lab keep outside of this tree.
clean-cache:
	@tools/cache.sh clean

setup:
	@tools/setup.sh

# Forwards only: Meson builds user space, Kbuild the kernel side. Everything here installs what it
# needs first, so that each target works on a bare Debian 12.
BUILD      ?= build
BUILD_SAN  ?= build-san
BUILD_TSAN ?= build-tsan
BUILD_CLANG ?= build-clang
# Warnings fail "make check"; WERROR=false for compilers that have new ones.
WERROR     ?= true
PREFIX     ?= /usr/local
DESTDIR    ?=

.PHONY: all check check-all mutate demo lab install clean bench fuzz setup

all: setup
	@tools/build.sh "$(BUILD)"

check: setup
	@tools/build.sh "$(BUILD)" -Dwerror=$(WERROR)
	@tools/build.sh "$(BUILD_SAN)" -Dwerror=$(WERROR) -Db_sanitize=address,undefined -Db_lundef=false -Dbuildtype=debugoptimized -Dc_args=-fno-sanitize-recover=all
	@CC=clang tools/build.sh "$(BUILD_CLANG)" -Dwerror=$(WERROR) -Doptimization=0
	@TARGETS=threads tools/build.sh "$(BUILD_TSAN)" -Dwerror=$(WERROR) -Db_sanitize=thread -Db_lundef=false -Dbuildtype=debugoptimized
	@python3 tests/run.py "$(BUILD)" "$(BUILD_SAN)" "$(BUILD_TSAN)"

# The long ones, too: counts of accesses in a preemptible kernel, which must be built first, fuzzing by libFuzzer,
# and mutants. All of them run, whatever fails.
check-all:
	@tests/all.py "$(MAKE) check" "tests/kernel/test-access.sh 6.12 x86_64 preempt" tests/fuzz/run.sh tests/mutate/mutate.py

mutate: setup
	@tests/mutate/mutate.py

demo: all
	@tools/demo.sh "$(BUILD)"

lab: all
	@tools/lab.sh "$(BUILD)"

install: all
	@meson configure "$(BUILD)" -Dprefix="$(PREFIX)"
	@DESTDIR="$(DESTDIR)" meson install -C "$(BUILD)"

bench: all
	@tests/bench/run.sh "$(BUILD)"

fuzz: setup
	@tests/fuzz/run.sh

clean:
	rm -rf "$(BUILD)" "$(BUILD_SAN)" "$(BUILD_TSAN)" "$(BUILD_CLANG)" build-fuzz demo-out lab-out

setup:
	@tools/setup.sh

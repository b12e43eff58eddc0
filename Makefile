# Front door: `make run` answers a prompt with a real model, `make test` runs every test.
# Both set up what is missing (Debian packages, the model) and build first.
.PHONY: run test build program configure setup clean

PROMPT ?= What is gravity? Answer in two sentences.
JOBS ?= $(shell nproc)
BUILD := build/release

run: program
	@scripts/setup --model
	@model="$$(scripts/fetch_model)" && $(BUILD)/quern run "$$model" --chat --temp 0 --max-tokens 200 "$(PROMPT)"

# Without the model the tests that need it skip and say so. Python is there before the configuration
# looks for it: a test of bench/peers needs it.
test:
	@scripts/setup --test
	@$(MAKE) --no-print-directory build
	@scripts/fetch_model > /dev/null || true
	ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

program: configure
	@cmake --build --preset release -j $(JOBS) --target quern

build: configure
	@cmake --build --preset release -j $(JOBS)

configure: setup
	@cmake --preset release -DCMAKE_BUILD_TYPE=Release > /dev/null

setup:
	@scripts/setup

clean:
	rm -rf build

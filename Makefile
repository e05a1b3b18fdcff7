# make bench   build and run the quick start: needs Go and make only, no root
# make test    the whole gate, the same that CI runs
GO         ?= go
VERSION    := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: bench build test referee perf bench-barrier golden fuzz clean

bench: build
	@fabric=lab; bin/evbench lab doctor --quiet || { fabric=emulate; \
		echo 'No network namespaces here (evbench lab doctor says why): taking the emulated fabric, a model.'; }; \
	bin/evbench run --fabric $$fabric scenarios/quickstart.yaml

build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-X main.version=$(VERSION)' -o bin/evbench ./cmd/evbench

test:
	GO='$(GO)' STATICCHECK='$(STATICCHECK)' scripts/gate

# Our forwarding tables beside those of the real OpenSM, entry by entry.
referee:
	GO='$(GO)' scripts/referee

# The figures of docs/results.md, measured beside their predictions.
perf: build
	GO='$(GO)' scripts/perf

# Latency of one barrier over TCP on loopback, by kind and number of servers.
bench-barrier:
	$(GO) test -run '^$$' -bench Barrier -benchtime 2000x ./transport/tcp

# Rewrite golden files; read the diff before you commit it.
golden:
	$(GO) test ./routing ./plan ./survey ./report ./companion ./cmd/evbench -update
	$(GO) test ./controller -rewrite

# Every fuzz target for a while (default 20 s each).
FUZZTIME ?= 20s
fuzz:
	GO='$(GO)' scripts/fuzz $(FUZZTIME)

clean:
	rm -rf bin

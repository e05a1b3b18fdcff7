# make bench   build and run the quick start: needs Go and make only, no root; RUN='--rounds 1' adds options of the run
# make check   the inner loop: format, vet, tests of the packages that differ from main, and of their importers
# make test    the whole gate, the same that CI runs
# make install PREFIX=/usr/local   evbench, its manual page, completion for bash, zsh, fish
# make dist    static archives, .deb, .rpm, recipes and their sums in dist/
# make image   dist/evbench-image.tar, an OCI image with MPI, HDF5 and sshd; make test-image tries it
# make noise   the quick start N times (5) under each of four conditions: idle, beside busy loops, stopped at random, both
GO         ?= go
VERSION    := $(shell git describe --tags --always --dirty 2>/dev/null)
PREFIX     ?= /usr/local
MPICC      ?= mpicc
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
NFPM        = github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.0

.PHONY: bench build check install dist image test-image test test-slurm test-rdma referee referee-flit perf bench-barrier bench-peers pack-peers noise soak golden fuzz clean

bench: build
	@fabric=lab; bin/evbench lab doctor --quiet || { fabric=emulate; \
		echo 'No network namespaces here (evbench lab doctor says why): taking the emulated fabric, a model.'; }; \
	bin/evbench run --fabric $$fabric scenarios/quickstart.yaml $(RUN)

# With MPI, HDF5 and verbs where their libraries are here; TAGS= builds pure Go.
build:
	@GO='$(GO)' VERSION='$(VERSION)' scripts/build

check:
	@GO='$(GO)' scripts/check

# Installs what make build has built, so that root needs no Go.
install:
	@[ -x bin/evbench ] || $(MAKE) --no-print-directory build
	scripts/install bin/evbench '$(DESTDIR)$(PREFIX)'

# Equal commits make equal bytes. ARCHES=amd64 makes only those.
dist:
	@GO='$(GO)' NFPM='$(NFPM)' VERSION='$(VERSION)' scripts/dist

image:
	@GO='$(GO)' VERSION='$(VERSION)' scripts/image

# Builds the image twice, unpacks it, and runs in it the quick start, the judge and mpirun.
test-image:
	@GO='$(GO)' VERSION='$(VERSION)' scripts/test-image

test:
	GO='$(GO)' STATICCHECK='$(STATICCHECK)' NFPM='$(NFPM)' scripts/gate

# Runs through sbatch, srun and salloc of a Slurm that lives for this test only.
test-slurm: build
	scripts/test-slurm

# Transport rdma over soft-RoCE, in a guest that QEMU runs; skipped where that is not here.
test-rdma:
	GO='$(GO)' scripts/test-rdma

# Our forwarding tables beside those of the real OpenSM, entry by entry.
referee:
	GO='$(GO)' scripts/referee

# Our model of lossless networks beside two simulators: CASES are their results.csv, by
# default those beside this checkout, else a few rows of them. REFEREE_FLIT is what else
# referee/flit is told, such as REFEREE_FLIT=--quiet.
CASES ?= $(or $(wildcard ../shared/refs/flit/*/results.csv),$(wildcard referee/flit/testdata/*.csv))
referee-flit:
	$(GO) build -trimpath -o bin/flit ./referee/flit
	@bin/flit $(REFEREE_FLIT) $(CASES)

# The figures of docs/evidence/results.md, measured beside their predictions.
perf: build
	GO='$(GO)' scripts/perf

# Latency of one barrier over TCP on loopback, by kind and number of servers.
bench-barrier:
	$(GO) test -run '^$$' -bench Barrier -benchtime 2000x ./transport/tcp

# evbench beside C programs over MPI, in turn: docs/evidence/results.md. PEERS is what else
# referee/peer is told, such as PEERS='--rows barrier --slots 21'.
bench-peers: build
	@for tool in $(MPICC) mpirun; do command -v $$tool >/dev/null || { \
		echo "bench-peers: no $$tool: the C programs need Open MPI (Debian: openmpi-bin libopenmpi-dev gcc)" >&2; exit 2; }; done
	GO='$(GO)' MPICC='$(MPICC)' scripts/with-mpi $(GO) build -trimpath -tags mpi -o bin/peer ./referee/peer
	@MPICC='$(MPICC)' bin/peer --evbench bin/evbench $(PEERS)

# One archive that measures the same on a machine without packages and network: dist/evbench-peers.tar.gz.
pack-peers:
	@GO='$(GO)' MPICC='$(MPICC)' scripts/pack-peers

# The quick start idle, beside four busy loops, while it is stopped at random for a third of
# the time, and both, N times each: docs/evidence/results.md. NOISE is what else referee/noise is
# told, such as NOISE='--verbose --scenario mine.yaml'.
N ?= 5
noise: build
	$(GO) build -trimpath -o bin/noise ./referee/noise
	@bin/noise --runs $(N) $(NOISE)

# Links die, processes are killed and stopped, messages come late, for MINUTES; SEED
# repeats what a seed has drawn: docs/evidence/results.md. SOAK is what else referee/soak is told.
MINUTES ?= 10
SEED    ?= $(shell date +%s)
soak: build
	$(GO) build -trimpath -o bin/soak ./referee/soak
	@bin/soak --minutes $(MINUTES) --seed $(SEED) $(SOAK)

# Rewrite golden files; read the diff before you commit it.
golden:
	$(GO) test ./routing ./plan ./study/survey ./study/policy ./study/papers ./report ./view/figure ./companion ./companion/linux ./referee/noise ./cmd/evbench -update
	$(GO) test ./controller -rewrite

# Every fuzz target for a while (default 20 s each); TARGETS='csv|FuzzRead$$' only those.
FUZZTIME ?= 20s
fuzz:
	GO='$(GO)' scripts/fuzz $(FUZZTIME)

clean:
	rm -rf bin dist

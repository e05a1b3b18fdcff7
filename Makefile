# make bench   build and run the quick start: needs Go and make only, no root; RUN='--rounds 1' adds options of the run
# make check   the inner loop: format, vet, tests of the packages that differ from main, and of their importers
# make test    the whole gate, the same that CI runs
# make install PREFIX=/usr/local   evbench, its manual page, completion for bash, zsh, fish
# make dist    static archives, .deb, .rpm, recipes and their sums in dist/
# make image   dist/evbench-image.tar, an OCI image with MPI, HDF5 and sshd; make test-image tries it
# make soak    links die, processes are killed: evidence/Makefile has this, reproduce, table, peers, noise, flit
GO         ?= go
VERSION    := $(shell git describe --tags --always --dirty 2>/dev/null)
PREFIX     ?= /usr/local
MPICC      ?= mpicc
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
NFPM        = github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.0

.PHONY: bench build check install dist image test-image test test-slurm test-rdma culprits referee referee-flit perf bench-barrier bench-evidence bench-peers pack-peers noise soak reproduce table golden fuzz clean

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
	@GO='$(GO)' $(MAKE) --no-print-directory -C evidence test STATICCHECK='$(STATICCHECK)'

# Runs through sbatch, srun and salloc of a Slurm that lives for this test only.
test-slurm: build
	scripts/test-slurm

# Transport rdma over soft-RoCE, in a guest that QEMU runs; skipped where that is not here.
test-rdma:
	GO='$(GO)' scripts/test-rdma

# Faults in a lab, and whom run names. FAULTS='seed:1-20 stop:server9:2' sets those; scripts/culprits --help.
culprits: build
	scripts/culprits $(FAULTS)

# Our forwarding tables beside those of the real OpenSM, entry by entry.
referee:
	GO='$(GO)' scripts/referee

# The figures of docs/evidence/results.md, measured beside their predictions.
perf: build
	GO='$(GO)' scripts/perf

# Latency of one barrier over TCP on loopback, by kind and number of servers.
bench-barrier:
	$(GO) test -run '^$$' -bench Barrier -benchtime 2000x ./transport/tcp

# What evidence of each pair costs, as a ratio of events/s in pairs of runs.
bench-evidence:
	$(GO) test -run '^$$' -bench Evidence -benchtime 100x -timeout 1h ./bench

# What measures and attacks evbench itself is a module of its own: evidence/Makefile has its targets and their options.
bench-peers referee-flit noise soak reproduce table:
	@$(MAKE) --no-print-directory -C evidence $(patsubst bench-%,%,$(patsubst referee-%,%,$@))

# One archive that measures the same on a machine without packages and network: dist/evbench-peers.tar.gz.
pack-peers:
	@GO='$(GO)' MPICC='$(MPICC)' scripts/pack-peers

# Rewrite golden files; read the diff before you commit it.
golden:
	EVBENCH_ALL=1 $(GO) test ./routing ./plan ./study/survey ./study/policy ./report ./view/figure ./companion ./companion/linux ./cmd/evbench -update
	$(GO) test ./controller -rewrite
	@$(MAKE) --no-print-directory -C evidence golden

# Every fuzz target for a while (default 20 s each); TARGETS='csv|FuzzRead$$' only those.
FUZZTIME ?= 20s
fuzz:
	GO='$(GO)' scripts/fuzz $(FUZZTIME)

clean:
	rm -rf bin dist

package main

import (
	"evbench/bench"
	"evbench/cmd/open"
	"evbench/cmd/open/emulated"
	"evbench/cmd/open/tables"
	"evbench/cmd/open/verbs"
	"evbench/model/anyshape"
	"evbench/model/ordered"
	"evbench/plan/best"
	"evbench/scenario"
	"evbench/site/engines"
	"evbench/site/hdf5"
	"evbench/site/netfile"
	"evbench/transport"
)

// What the packages of the core do not know themselves, and evbench hands in.
var (
	ours    = open.Program{Version: version, Transports: map[string]open.Transport{transport.RDMA: verbs.Transport()}}
	known   = scenario.Files{Tree: netfile.Tree, HDF5: hdf5.ReadSizes, HDF5Trace: hdf5.ReadTrace, Networks: anyshape.Networks(), Engines: engines.Trees()}
	stored  = hdf5.Format(known.Engines)
	fabrics = open.Kinds{scenario.Lab: open.Lab(tables.Lab), scenario.Emulate: emulated.Here(), scenario.Hosts: ours.Local()}
	parts   = bench.Parts{Ordered: ordered.Orderer{}, Best: best.Of}
)

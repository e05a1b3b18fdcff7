package main

import (
	"evbench/bench"
	"evbench/model/anyshape"
	"evbench/model/ordered"
	"evbench/scenario"
	"evbench/site/hdf5"
	"evbench/site/netfile"
)

// What the packages of the core do not know themselves, and evbench hands in.
var (
	known  = scenario.Files{Tree: netfile.Tree, HDF5: hdf5.ReadSizes, Networks: anyshape.Networks()}
	stored = hdf5.Format()
	parts  = bench.Parts{Ordered: ordered.Orderer{}}
)

// Package routing answers: which next hop does each switch take for each destination, under
// the routing engine of this name?
//
// Engines for networks of any shape are in the packages below; this one chooses among them
// and gives each its input: the shape of a regular network from its notation, the levels of
// a tree. The rules that plans use on trees are here (TreeTables), with what their tables do:
// reach, loops, dead links, link loads.
package routing

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"evbench/routing/dmod"
	"evbench/routing/lft"
	"evbench/routing/opensm"
	"evbench/routing/qft"
	"evbench/routing/sssp"
	"evbench/topology/network"
)

// Options are what engines may be told. Each takes what it knows of; the zero
// value works for all but "file".
type Options struct {
	// Roots are the top switches of a tree. nil lets engines find them.
	Roots []network.Node
	// Previous are the tables that switches have, for engines that keep entries.
	// Its Net is the network that they were made for, not the one to route.
	Previous *lft.Tables
	// Restart, where it is not nil, says that Previous are tables which a subnet
	// manager saved before it was started anew, and gets what of them was valid.
	Restart *opensm.Validity
	// Weights are what hosts receive, for FtreeWeighted.
	Weights *lft.Weights
	// Workers is how many work at once. 0 means one a processor.
	Workers int
	// Seed is that of engines which draw.
	Seed uint64
	// Lanes is the number of virtual lanes that may be used. 0 means 8.
	Lanes int
	// Partial lets engines that refuse a network in which some pairs cannot be
	// joined leave these pairs without a route.
	Partial bool
	// File is what "file" reads: LFT text or JSON.
	File io.Reader
}

// The engines for networks of any shape, as on the command line; those for trees are in trees.go.
const (
	FtreeWeighted = "ftree-weighted" // of networks only: plans have no weights
	OpenSMMinHop  = "opensm-minhop"
	UpDown        = "updn"
	UpDownScatter = "updn-scatter"
	DownUp        = "dnup"
	DModK         = "dmodk"
	DModC         = "dmodc"
	DModCDownCost = "dmodc-downcost"
	SSSP          = "sssp"
	DFSSSP        = "dfsssp"
	QFT           = "qft"
	File          = "file" // tables that were made elsewhere
)

// An Engine is an entry of the table.
type Engine struct {
	Name string
	Text string // what it does, on one line
	do   func(*network.Network, Options) (*lft.Tables, error)
}

// engines are all there are, in the order in which people are told.
var engines = []Engine{
	{Ftree, "as OpenSM's ftree: contention-free shifts on whole trees", ftree},
	{FtreeWeighted, "ftree balanced by what each host receives: --weights or --jobs", weighted},
	{OpenSMMinHop, "as OpenSM's minhop: shortest ways, balanced; sticky after a failure", sticky(opensm.MinHop)},
	{UpDown, "as OpenSM's updn: shortest ways up, then down", sticky(opensm.UpDown)},
	{UpDownScatter, "updn with OpenSM's --scatter-ports", scatter},
	{DownUp, "as OpenSM's dnup: shortest ways down, then up", sticky(opensm.DownUp)},
	{DModK, "d-mod-k, closed form for whole PGFTs", dmodk},
	{DModC, "d-mod-k for degraded trees", dmodc},
	{DModCDownCost, "dmodc that never goes up after down, for nets that are only like trees", dmodcDown},
	{SSSP, "as OpenSM's sssp: shortest ways over cables that grow heavier", shortest},
	{DFSSSP, "as OpenSM's dfsssp: sssp, and virtual lanes without deadlock", lanes},
	{QFT, "closed form for quasi fat trees and PGFTs, whole or degraded", quasi},
	{MinHop, "two levels: least used live spine, ties to the lowest", twoLevels(MinHop)},
	{Spread, "two levels: the same, ties rotated by leaf", twoLevels(Spread)},
	{File, "tables from a file", file},
}

// All returns the engines.
func All() []Engine { return append([]Engine(nil), engines...) }

// Names returns the names that Compute takes.
func Names() []string {
	names := make([]string, len(engines))
	for i, e := range engines {
		names[i] = e.Name
	}
	return names
}

// Compute returns the tables of an engine. Several names with commas between are
// tried from the left until one can route the network, as OpenSM does with
// "ftree,minhop"; in such a list minhop is OpenSM's, as all others there are.
func Compute(name string, n *network.Network, o Options) (*lft.Tables, error) {
	list := strings.Split(name, ",")
	steps := make([]Engine, len(list))
	for i, x := range list {
		x = strings.TrimSpace(x)
		if x == MinHop && len(list) > 1 {
			x = OpenSMMinHop
		}
		var err error
		if steps[i], err = find(x); err != nil {
			return nil, err
		}
		if x == File && len(list) > 1 {
			return nil, fmt.Errorf("engine %q: file cannot be one of several", name)
		}
	}
	if err := keeps(steps, o); err != nil {
		return nil, fmt.Errorf("engine %q: %w", name, err)
	}
	var all []error
	for _, e := range steps {
		t, err := e.do(n, o)
		if err == nil {
			t.Engine = e.Name
			return t, nil
		}
		all = append(all, fmt.Errorf("engine %s: %w", e.Name, err))
	}
	return nil, errors.Join(all...)
}

// keeps is an error where there are tables before and no engine that looks at them.
func keeps(steps []Engine, o Options) error {
	keep, what := []string{OpenSMMinHop, UpDown, DownUp}, "entries of tables before are kept"
	if o.Restart != nil {
		keep, what = keep[:2], "tables are kept over a restart"
	}
	if o.Previous == nil || slices.ContainsFunc(steps, func(e Engine) bool { return slices.Contains(keep, e.Name) }) {
		return nil
	}
	return fmt.Errorf("%s by %s", what, strings.Join(keep, ", "))
}

func find(name string) (Engine, error) {
	for _, e := range engines {
		if e.Name == name {
			return e, nil
		}
	}
	return Engine{}, fmt.Errorf("no engine %q; there are %s", name, strings.Join(Names(), ", "))
}

func ftree(n *network.Network, o Options) (*lft.Tables, error) { return opensm.Ftree(n, o.Roots) }

func weighted(n *network.Network, o Options) (*lft.Tables, error) {
	if o.Weights == nil {
		return nil, errors.New("no weights of hosts are given")
	}
	return opensm.FtreeWeighted(n, o.Roots, o.Weights)
}

// sticky is an engine that keeps entries of the tables before.
func sticky(e opensm.Engine) func(*network.Network, Options) (*lft.Tables, error) {
	return func(n *network.Network, o Options) (*lft.Tables, error) {
		switch {
		case o.Previous == nil:
			return e.Route(n, o.Roots)
		case o.Restart == nil:
			return e.After(n, o.Roots, o.Previous)
		}
		t, v, err := e.Restart(n, o.Roots, o.Previous)
		if err == nil {
			*o.Restart = *v
		}
		return t, err
	}
}

func scatter(n *network.Network, o Options) (*lft.Tables, error) {
	return opensm.Scatter(n, o.Roots, uint32(o.Seed))
}

func shortest(n *network.Network, _ Options) (*lft.Tables, error) { return sssp.SSSP(n) }

func lanes(n *network.Network, o Options) (*lft.Tables, error) {
	if o.Lanes == 0 {
		o.Lanes = 8
	}
	return sssp.DFSSSP(n, o.Lanes)
}

func dmodk(n *network.Network, _ Options) (*lft.Tables, error) {
	shape, err := shapeOf(n)
	if err != nil {
		return nil, err
	}
	g, ok := shape.(network.PGFT)
	if !ok {
		return nil, fmt.Errorf("%s is no PGFT", n.Notation)
	}
	return dmod.Dmodk(g, n)
}

func dmodc(n *network.Network, o Options) (*lft.Tables, error) { return ranked(n, o, false) }

func dmodcDown(n *network.Network, o Options) (*lft.Tables, error) { return ranked(n, o, true) }

func ranked(n *network.Network, o Options, down bool) (*lft.Tables, error) {
	d := dmod.Options{Workers: o.Workers, Partial: o.Partial, DownCost: down}
	if o.Roots != nil {
		var err error
		if d.Ranks, err = network.Ranks(n, o.Roots); err != nil {
			return nil, err
		}
	}
	return dmod.Dmodc(n, d)
}

func quasi(n *network.Network, _ Options) (*lft.Tables, error) {
	shape, err := shapeOf(n)
	if err != nil {
		return nil, err
	}
	switch g := shape.(type) {
	case network.QFT:
		return qft.QFT(qft.Shape(g), n)
	case network.PGFT:
		return qft.FatTree(qft.Shape(g), n)
	}
	return nil, fmt.Errorf("%s is neither a QFT nor a PGFT", n.Notation)
}

// shapeOf returns the shape of a network that was built from a notation.
func shapeOf(n *network.Network) (network.Shape, error) {
	if n.Notation == "" {
		return nil, errors.New("the closed form needs a network given by its notation")
	}
	return network.ParseShape(n.Notation)
}

func file(n *network.Network, o Options) (*lft.Tables, error) {
	if o.File == nil {
		return nil, errors.New("no file")
	}
	return lft.Read(o.File, n)
}

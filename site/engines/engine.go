// Package engines answers: which tables does an engine of this name make of a network, and of a tree?
//
// site/engines/opensm and site/engines/closed hold engines for networks of any shape. This package chooses
// among them and gives each its input: the shape of a regular network from its notation, the levels
// of a tree. Plans know them by name where main hands Trees in.
package engines

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/routing"
	"evbench/site/engines/closed"
	"evbench/site/engines/minmax"
	"evbench/site/engines/opensm"
	"evbench/site/lft"
	"evbench/site/network"
)

// Options are the inputs of engines. Each engine uses those that apply; the zero value works for
// all but "file".
type Options struct {
	// Roots are the top switches of a tree. nil lets engines find them.
	Roots []network.Node
	// Previous are the present tables of the switches, for engines that keep entries. Its Net is
	// the network that they were made for, not the one to route.
	Previous *lft.Tables
	// Restart, if not nil, says that Previous are tables which a subnet manager saved before its
	// restart, and receives their valid parts.
	Restart *opensm.Validity
	// Weights are what hosts receive, for FtreeWeighted.
	Weights *lft.Weights
	// Seed is the seed of engines with random draws.
	Seed uint64
	// Bits are the path bits of hosts (network.PathBits), for MinMax: a LID's routes are for those that send to it.
	// nil: the LIDs of a host have the same routes.
	Bits []uint8
	// Lanes is the number of virtual lanes that may be used. 0 means 8.
	Lanes int
	// Partial lets engines that refuse a network in which some pairs cannot be
	// joined leave these pairs without a route.
	Partial bool
	// File is the input of "file": LFT text or JSON.
	File io.Reader
}

// The engines for networks of any shape, as on the command line, beside those of package routing.
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
	MinMax        = "minmax"
	File          = "file" // tables that were made elsewhere
)

// An Engine is an entry of the table.
type Engine struct {
	Name string
	Text string // what it does, on one line
	do   engine
}

type engine = func(*network.Network, Options) (*lft.Tables, error)

// engines are all engines, in the order for listings. A new one is a row here.
var engines = []Engine{
	{routing.Ftree, "as OpenSM's ftree: contention-free shifts on whole trees", func(n *network.Network, o Options) (*lft.Tables, error) {
		return opensm.Ftree(n, o.Roots)
	}},
	{FtreeWeighted, "ftree balanced by what each host receives: --weights or --jobs", func(n *network.Network, o Options) (*lft.Tables, error) {
		if o.Weights == nil {
			return nil, errors.New("no weights of hosts are given")
		}
		return opensm.FtreeWeighted(n, o.Roots, o.Weights)
	}},
	{OpenSMMinHop, "as OpenSM's minhop: shortest ways, balanced; sticky after a failure", sticky(opensm.MinHop)},
	{UpDown, "as OpenSM's updn: shortest ways up, then down", sticky(opensm.UpDown)},
	{UpDownScatter, "updn with OpenSM's --scatter-ports", func(n *network.Network, o Options) (*lft.Tables, error) {
		return opensm.Scatter(n, o.Roots, uint32(o.Seed))
	}},
	{DownUp, "as OpenSM's dnup: shortest ways down, then up", sticky(opensm.DownUp)},
	{DModK, "d-mod-k, closed form for whole PGFTs", alone(closed.Dmodk)},
	{DModC, "d-mod-k for degraded trees", dmodc(false)},
	{DModCDownCost, "dmodc that never goes up after down, for nets that are only like trees", dmodc(true)},
	{SSSP, "as OpenSM's sssp: shortest ways over cables that grow heavier", alone(opensm.SSSP)},
	{DFSSSP, "as OpenSM's dfsssp: sssp, and virtual lanes without deadlock", func(n *network.Network, o Options) (*lft.Tables, error) {
		return opensm.DFSSSP(n, cmp.Or(o.Lanes, 8))
	}},
	{MinMax, "any network: the fullest link as empty as possible, and virtual lanes without deadlock", func(n *network.Network, o Options) (*lft.Tables, error) {
		x := minmax.New(n, o.Bits)
		t, load := x.Route(true)
		lanes, rule := cmp.Or(o.Lanes, 8), ""
		err := opensm.WithLanes(t, lanes)
		if tooFew(err) {
			t, load = x.Route(false)
			err = opensm.WithLanes(t, lanes)
		}
		switch {
		case tooFew(err):
			rule = fmt.Sprintf("routes go up and then down (up*/down*), since others deadlock on %s; ", show.Plural(lanes, "lane", "lanes"))
			t, load = x.UpDown(o.Roots)
		case err != nil:
			return nil, err
		}
		t.Note = rule + fmt.Sprintf("the fullest link between switches carries %.6g messages; no routing goes below %.6g", load.Most, math.Ceil(load.Bound*(1-1e-9)))
		if load.Whole > math.Ceil(load.Bound*(1-1e-9)) {
			of := "host"
			if o.Bits != nil {
				of = "LID"
			}
			t.Note += fmt.Sprintf(", and no tables below %.6g, by which the messages of a switch to a %s stay together", load.Whole, of)
		}
		if o.Bits == nil && rule == "" && load.Most > 1.05*load.Bound {
			t.Note += "; with several LIDs a host (--lmc N --path-bits) they may part"
		}
		return t, nil
	}},
	{QFT, "closed form for quasi fat trees and PGFTs, whole or degraded", alone(closed.QFT)},
	{routing.MinHop, "two levels: least used live spine, ties to the lowest", twoLevels(routing.MinHop)},
	{routing.Spread, "two levels: the same, ties rotated by leaf", twoLevels(routing.Spread)},
	{File, "tables from a file", func(n *network.Network, o Options) (*lft.Tables, error) {
		if o.File == nil {
			return nil, errors.New("no file")
		}
		return lft.Read(o.File, n)
	}},
}

func tooFew(err error) bool {
	_, few := errors.AsType[opensm.TooFewLanes](err)
	return few
}

func alone(f func(*network.Network) (*lft.Tables, error)) engine {
	return func(n *network.Network, _ Options) (*lft.Tables, error) { return f(n) }
}

func sticky(e opensm.Engine) engine {
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

func dmodc(downCost bool) engine {
	return func(n *network.Network, o Options) (*lft.Tables, error) {
		d := closed.Options{Partial: o.Partial, DownCost: downCost}
		if o.Roots != nil {
			var err error
			if d.Ranks, err = network.Ranks(n, o.Roots); err != nil {
				return nil, err
			}
		}
		return closed.Dmodc(n, d)
	}
}

func All() []Engine { return append([]Engine(nil), engines...) }

// Names returns the names that Compute accepts.
func Names() []string {
	return lists.Map(engines, func(e Engine) string { return e.Name })
}

// Compute returns the tables of an engine, with entries for all LIDs of the network. For several names separated by commas it tries each from
// the left until one can route the network, as OpenSM does with "ftree,minhop", which is
// "ftree,opensm-minhop" here.
func Compute(name string, n *network.Network, o Options) (*lft.Tables, error) {
	list := strings.Split(name, ",")
	steps := make([]Engine, len(list))
	for i, x := range list {
		x = strings.TrimSpace(x)
		if x == routing.MinHop && len(list) > 1 {
			return nil, fmt.Errorf("engine %q: in a list, as OpenSM takes it, the engine that OpenSM calls minhop is written %s", name, OpenSMMinHop)
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
		t, err := e.rails(n, o)
		if err == nil {
			if t.Engine = e.Name; e.Name != File {
				t.RouteOthers()
			}
			return t, nil
		}
		all = append(all, fmt.Errorf("engine %s: %w", e.Name, err))
	}
	return nil, errors.Join(all...)
}

// keeps returns an error if there are earlier tables and no engine that uses them.
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
	return Engine{}, fmt.Errorf("no engine %q; %s", name, show.Choices(name, Names()))
}

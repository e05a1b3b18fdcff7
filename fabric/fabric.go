// Package fabric is the interface of the network under a run: plans are installed on it, links are
// taken down on it, and workers are started on it.
//
// Package bench uses it. Packages fabric/lab, model/emulate and site/host implement the networks, and
// packages of cmd/open put them behind this interface.
package fabric

import (
	"context"
	"log/slog"
	"time"

	"evbench/controller/wire"
	"evbench/failover/loop"
	"evbench/plan"
	"evbench/results"
	"evbench/topology"
)

// A Fabric is the network that a run is measured on. One goroutine uses it at a time, except where
// stated.
type Fabric interface {
	// Info describes it: kind, link rate, MTU, whether it is a model.
	Info() results.Fabric

	// Install takes down exactly the dead links of the plan's tree, brings up all others, installs
	// the plan's routes, reads them back and compares. At the first difference it stops and returns
	// an error.
	Install(ctx context.Context, p *plan.Plan) error

	// Counters returns the traffic of every direction of every cable since the fabric was made, or
	// nil if it cannot be known.
	Counters(ctx context.Context) ([]results.LinkCount, error)

	// Dead returns the links that are down now, for any reason; an error if that cannot be known.
	// It may run in parallel with other calls.
	Dead() ([]topology.Link, error)

	// WatchCables tells which cables are down, those of servers included, and then each change, one
	// at a time, until ctx ends. It may run in parallel with other calls. A fabric that does not
	// know its cables tells nothing.
	WatchCables(ctx context.Context, tell func(topology.CableEvent)) error

	// Network returns the links and the routes of the fabric. p is the installed plan; engine
	// repairs tables. It may run in parallel with other calls.
	Network(p *plan.Plan, engine string) (loop.Network, error)

	// SetLinks takes links down or up now. It may run in parallel with users of the Network.
	SetLinks(ctx context.Context, links []topology.Link, up bool) error

	// Check looks at the workers that have joined, before anything is measured. It returns an error
	// if results of a run on them would not be credible.
	Check(ctx context.Context, j Joined) (Checked, error)

	// Launcher starts the workers of this fabric.
	Launcher

	// Close undoes everything, even after a partial start.
	Close() error
}

// A Launcher starts the workers, one per server, which join the controller.
type Launcher interface {
	// Launch starts a worker for each rank of the tree. They end when ctx ends or when the
	// controller tells them to. Wait returns once all have ended, with the first error. A worker
	// that ends with an error of its own is reported to the job at once.
	Launch(ctx context.Context, j Job) (wait func() error, err error)
	// MayOpen reports why the workers of servers servers cannot each have connections connections
	// open, to others and from others.
	MayOpen(servers, connections int) error
}

// A Job is the data with which a worker joins.
type Job struct {
	Tree       *topology.Tree
	Controller string // "unix:/path" or "tcp:host:port"
	Token      string // shared secret of the run
	Failed     func() // a worker has ended with an error, which wait will return
	Again      bool   // a worker that was killed may be started again: it joins anew
}

// Joined are the workers of a run, one per server.
type Joined struct {
	Tree  *topology.Tree
	Hosts []results.Host // their machines, by position
	// Spines are those that workers connect through: a server needs an address for each.
	Spines []Spine
	Log    *slog.Logger // nil is allowed
	// Survey has every pair of them probe each other, both given by position. It begins nothing
	// after limit has passed, and asks for the router half way where routers says so. The result is
	// [from][to], as Hosts, with an entry for each address; nil: not measured.
	Survey func(ctx context.Context, limit time.Duration, routers func(from, to int) bool) ([][][]wire.Reach, error)
}

// A Spine is the highest through which the plan of a case sends to a server.
type Spine struct {
	Case string
	To   int // rank, an index of Hosts
	Path int
}

// Checked is what Check has found, for the manifest.
type Checked struct {
	Hosts    []results.Host // where machines matter
	Lines    []string
	Warnings []string
}

// Package fabric says what a run stands on: the interface of a network that plans are
// installed on, links are taken down on, and workers are started on.
//
// Package bench asks for it. The packages below fabric are the networks that there are,
// and kind puts them behind this interface.
package fabric

import (
	"context"

	"evbench/failover/loop"
	"evbench/plan"
	"evbench/results"
	"evbench/topology"
)

// A Fabric is the network that a run is measured on. One goroutine uses it at a
// time, except where stated.
type Fabric interface {
	// Info says what it is: kind, link rate, MTU, whether it is a model.
	Info() results.Fabric

	// Install takes down exactly the links that are dead in the plan's tree,
	// brings up all others, puts the plan's routes in place, reads them back
	// and compares. It returns an error, and changes nothing further, at the
	// first difference.
	Install(ctx context.Context, p *plan.Plan) error

	// Counters returns what every direction of every cable has carried since
	// the fabric exists, or nil where it cannot be known.
	Counters(ctx context.Context) ([]results.LinkCount, error)

	// Dead returns the links that are down now, whoever has taken them down; an error
	// where that cannot be known. It is used beside the other calls.
	Dead() ([]topology.Link, error)

	// WatchCables tells which cables are down, those of servers included, and then of each
	// change, one at a time, until ctx ends. It is used beside the other calls. Where the
	// fabric does not know its cables nothing is told.
	WatchCables(ctx context.Context, tell func(topology.CableEvent)) error

	// Network returns the links and the routes of the fabric. p is what is installed;
	// engine is what tables are repaired with. It is used beside the other calls.
	Network(p *plan.Plan, engine string) (loop.Network, error)

	// SetLinks takes links down or up now. It runs beside what uses the Network.
	SetLinks(ctx context.Context, links []topology.Link, up bool) error

	// Launcher starts the workers of this fabric.
	Launcher

	// Close undoes everything, also a half-built start.
	Close() error
}

// A Launcher starts the workers, one per server, that join the controller.
type Launcher interface {
	// Launch starts a worker for each rank of the tree. They end when ctx
	// ends or when the controller tells them to. Wait returns once all have
	// ended, with the first error. Of a worker that ends with an error of its own
	// the job is told at once.
	Launch(ctx context.Context, j Job) (wait func() error, err error)
	// MayOpen reports why the workers of so many servers may not each have so many
	// connections open, to others and from others.
	MayOpen(servers, connections int) error
}

// A Job is what a worker needs to join.
type Job struct {
	Tree       *topology.Tree
	Controller string // "unix:/path" or "tcp:host:port"
	Token      string // shared secret of the run
	Failed     func() // a worker has ended with an error, which wait will return
}

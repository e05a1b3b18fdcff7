package bench

import (
	"context"
	"time"

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

	// Watch follows link events until ctx ends. p is what is installed; on each
	// event it re-routes with the tables that reroute computes for the new dead
	// set; every change and what was done is sent to events. It runs beside the
	// other calls and returns when ctx has ended and nothing of it runs any
	// more.
	Watch(ctx context.Context, p *plan.Plan, reroute Reroute, events chan<- RouteChange) error

	// SetLinks takes links down or up now. It runs beside Watch.
	SetLinks(ctx context.Context, links []topology.Link, up bool) error

	// Launcher starts the workers of this fabric.
	Launcher

	// Close undoes everything, also a half-built start.
	Close() error
}

// Reroute computes the plan for a tree whose dead links have changed.
type Reroute func(t *topology.Tree) (*plan.Plan, error)

// A RouteChange reports what was done about links that changed.
type RouteChange struct {
	Down, Up []topology.Link // that died, that came back
	Seen     time.Time       // when the first event of the change had been read
	Done     time.Time       // when the new routes were in place and read back
	Changed  int             // routes written or deleted
	Err      error           // the routes are not in place
}

// A Launcher starts the workers, one per server, that join the controller.
type Launcher interface {
	// Launch starts a worker for each rank of the tree. They end when ctx
	// ends or when the controller tells them to. Wait returns once all have
	// ended, with the first error.
	Launch(ctx context.Context, j Job) (wait func() error, err error)
}

// A Job is what a worker needs to join.
type Job struct {
	Tree       *topology.Tree
	Controller string // "unix:/path" or "tcp:host:port"
	Token      string // shared secret of the run
}

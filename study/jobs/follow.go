package jobs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"evbench/routing/lft"
	"evbench/topology/network"
)

// Following routes anew whenever what runs across switches has changed: the filtering tool of
// Domke and Hoefler (Fig. 4), which looks at the queue again and again, leaves out jobs
// within one switch, and compares which hosts the others have with the last time. Beyond that
// it looks at the network too.
type Following struct {
	Source  string // what the network is called
	Classes *Classes
	Lanes   int // as for Route

	// List returns the jobs that run, and Network the network as it is. An error is told, and
	// all stays as it is until the next look.
	List    func(context.Context) ([]Job, error)
	Network func(context.Context) (*network.Network, error)
	// Install brings tables to where they are used. After an error they are installed again at
	// the next look.
	Install func(context.Context, *Routed, *lft.Tables) error
	// Tell is told what was done, or why nothing was.
	Tell func(*Routed, error)
	// Wait waits until the next look. Its error ends Run.
	Wait func(context.Context) error

	net  *network.Network // of the tables that are installed; nil: none are
	jobs [][]network.Node
	list []Job
}

// Run looks at the jobs, and again after each Wait, until that returns an error or ctx ends.
func (f *Following) Run(ctx context.Context) error {
	for {
		r, err := f.look(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if r != nil || err != nil {
			f.Tell(r, err)
		}
		if err := f.Wait(ctx); err != nil {
			return err
		}
	}
}

// look returns nothing where nothing has changed.
func (f *Following) look(ctx context.Context) (*Routed, error) {
	n, err := f.Network(ctx)
	if err != nil {
		return nil, fmt.Errorf("the network: %w", err)
	}
	list, err := f.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("the jobs: %w", err)
	}
	r := NewRouted(f.Source)
	p := r.Place(n, list, f.Classes)
	if f.net != nil && sameNetwork(f.net, n) && slices.EqualFunc(f.jobs, p.Jobs, slices.Equal) {
		return nil, nil
	}
	change := Diff(f.list, list)
	r.Change = &change
	t, err := r.Route(n, p, f.Lanes)
	if err != nil {
		return r, err
	}
	f.net = nil // also where they are installed by half
	if err := f.Install(ctx, r, t); err != nil {
		return r, err
	}
	f.net, f.jobs, f.list = n, p.Jobs, list
	return r, nil
}

// sameNetwork reports whether tables for one network are tables for the other.
func sameNetwork(a, b *network.Network) bool {
	if a == b {
		return true
	}
	if a.Nodes() != b.Nodes() || a.Hosts() != b.Hosts() {
		return false
	}
	for v := range network.Node(a.Nodes()) {
		if a.Info(v) != b.Info(v) || !slices.Equal(a.Ends(v), b.Ends(v)) {
			return false
		}
	}
	return true
}

// Line is what has been done, or why not, in one line.
func (r *Routed) Line() string {
	var parts []string
	if c := r.Change; c != nil {
		parts = append(parts, fmt.Sprintf("%d started, %d ended, %d moved", len(c.Started), len(c.Ended), len(c.Moved)),
			fmt.Sprintf("%d jobs across switches on %d hosts", r.Jobs, r.Hosts))
	}
	if n := len(r.Routings); n > 0 {
		best, plain := r.Routings[n-1], r.Routings[0]
		parts = append(parts, fmt.Sprintf("at most %d routes of jobs on a cable, mean %.1f (%s: %d)", best.Max, best.Mean, plain.Routing, plain.Max))
	}
	if len(r.Unknown) > 0 {
		parts = append(parts, fmt.Sprintf("%d nodes not in the network", len(r.Unknown)))
	}
	if r.CanLock {
		parts = append(parts, "ROUTES CAN DEADLOCK")
	}
	if done := r.done(); r.Error != "" {
		parts = append(parts, r.Error)
	} else if done != "" {
		parts = append(parts, done)
	}
	return strings.Join(parts, "; ")
}

func (r *Routed) done() string {
	switch {
	case r.Installed:
		return "loaded by OpenSM, read back and compared"
	case r.Signalled:
		return "written, and OpenSM signalled"
	case r.Written:
		return "written"
	case r.Asked:
		return "nothing: the file has these tables already"
	}
	return ""
}

// Package linux installs the routes of plans in Linux kernels: those of a lab (package fabric/lab)
// through netlink, as the companion's Target there, and those of other switches as files for "ip
// -batch" (Batch), which others copy there. It decides no route.
package linux

import (
	"context"
	"net/netip"
	"sync"

	"golang.org/x/sys/unix"

	"evbench/companion"
	"evbench/fabric/lab"
	"evbench/failover"
	"evbench/internal/parallel"
)

// A Target is a lab as the companion sees it. The companion owns everything in the main table of a
// node, and the tables 1 to maxSpray.
type Target struct {
	lab     *lab.Lab
	sprayed sync.Map // companion.Node: nodes that have, or have had, marks
}

// NewTarget returns the target for a lab. It needs no close.
func NewTarget(l *lab.Lab) *Target { return &Target{lab: l} }

// Apply implements companion.Target. It serves nodes in parallel, and reads the routes of a node
// first to write only the differences.
func (t *Target) Apply(ctx context.Context, want companion.Routes) (changed int, err error) {
	counts := make([]int, len(want))
	err = t.each(ctx, len(want), func(i int) (err error) {
		counts[i], err = t.apply(want[i])
		return err
	})
	for _, n := range counts {
		changed += n
	}
	return changed, err
}

// Read implements companion.Target.
func (t *Target) Read(ctx context.Context, nodes []companion.Node) (companion.Routes, error) {
	out := make(companion.Routes, len(nodes))
	err := t.each(ctx, len(nodes), func(i int) error {
		held, err := t.read(lab.Node(nodes[i]))
		if err != nil {
			return err
		}
		out[i] = companion.Table{Node: nodes[i], Routes: live(held)}
		return nil
	})
	return out, err
}

// Watch implements companion.Target.
func (t *Target) Watch(ctx context.Context, events chan<- failover.LinkEvent) error {
	return t.lab.Watch(ctx, events)
}

// each calls f for 0..n-1 on as many goroutines as there are cores, until ctx ends.
func (t *Target) each(ctx context.Context, n int, f func(i int) error) error {
	return parallel.Try(0, n, func(i int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return f(i)
	})
}

// apply makes a node hold exactly the given routes, and returns how many it has written or deleted.
func (t *Target) apply(want companion.Table) (changed int, err error) {
	id := lab.Node(want.Node)
	have, err := t.read(id)
	if err != nil {
		return 0, err
	}
	var aliens []lab.Message
	present := make(map[netip.Prefix]companion.Route, len(have))
	for _, h := range have {
		if h.alien == nil {
			present[h.route.Prefix] = h.route
		} else {
			aliens = append(aliens, lab.Message{Kind: unix.RTM_DELROUTE, Data: h.alien})
		}
	}
	e := companion.Edit{Node: want.Node}
	for _, r := range want.Routes {
		if !present[r.Prefix].Equal(r) {
			e.Set = append(e.Set, r)
		}
		delete(present, r.Prefix)
	}
	for p := range present {
		e.Delete = append(e.Delete, p)
	}
	changed, err = t.edit(e)
	if err != nil {
		return changed, err
	}
	n, err := t.batch(id, aliens, func(int) string { return "delete a route of others" })
	return changed + n, err
}

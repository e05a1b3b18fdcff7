package scenario

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"evbench/internal/lists"
	"evbench/topology"
)

// timed reads {link: leaf0-spine3, at: 3s, for: 5s}, and expands {…, every: 1s, times: 5} to its
// failures.
func (d *document) timed(f field, find func(name string) ([]topology.Link, error)) ([]Timed, bool) {
	var t Timed
	m, good := d.section(f, slices.Concat(timedFields(&t), randomFailure),
		"link at: needed; a timed failure is {link: leaf0-spine3, at: 3s, for: 5s}, a random one {random: {count: 3}}",
		"for every times: needed with every or times; a flapping link is {link: leaf0-spine3, at: 1s, for: 300ms, every: 1s, times: 5}")
	if !good {
		return nil, false
	}
	links, err := find(t.Name)
	if err != nil {
		d.Fail(m.Get("link"), "%v", err)
		return nil, false
	}
	t.Links = links
	if t.flap.times == 0 {
		return []Timed{t}, true
	}
	if t.flap.every <= t.For {
		d.Fail(m.Get("every"), "%s is not longer than for, %s, so the link would not come back in between", short(t.flap.every), short(t.For))
		return nil, false
	}
	return lists.Tabulate(t.flap.times, func(i int) Timed {
		u := t
		u.At, u.flap.nth = t.At+time.Duration(i)*t.flap.every, i
		return u
	}), true
}

// timedRules checks the timed failures of a case; view is the tree at its start.
func (d *document) timedRules(at []field, view *topology.Tree, s *Scenario, c *Case) {
	if c.mayFailOver(s) != nil {
		return // and that is said
	}
	for _, f := range at {
		if err := c.mayReroute(s); err != nil {
			d.Fail(f, "%v", err)
			return
		}
	}
	if i, err := c.checkTimed(view); err != nil {
		d.Fail(at[i], "%v", err)
	}
}

// mayReroute reports why links of the case cannot die while it runs.
func (c *Case) mayReroute(s *Scenario) error {
	if !c.tables() && c.Failover == nil {
		return errors.New("routing pinned gives each message the one path that was planned before the case began, " +
			"so a link must not die under it; write failover: fors, which changes the plan, " +
			"or take ftree, minhop, spread, ecmp or spray, whose tables are computed anew")
	}
	if s.Fabric.Kind == Hosts && s.Inject.Kind == "" {
		return errors.New("evbench cannot take down links of plain hosts; a timed failure needs inject, or fabric lab or emulate")
	}
	return nil
}

// checkTimed returns the first timed failure that lies outside the case, takes down a dead link,
// or, without a policy for that, leaves a pair of servers without a path at some moment. view is
// the tree at the start of the case. O(n²) views; links die only when a failure begins, so only
// those moments count.
func (c *Case) checkTimed(view *topology.Tree) (int, error) {
	for i, t := range c.Timed {
		switch {
		case t.At >= c.Duration:
			return i, fmt.Errorf("begins at %s, but the case ends at %s", short(t.At), short(c.Duration))
		case t.up(c.Duration) > c.Duration:
			return i, fmt.Errorf("ends at %s (at + for), but the case ends at %s; leave out for to keep it down until then",
				short(t.At+t.For), short(c.Duration))
		}
	}
	for i, t := range c.Timed {
		now := view
		for j, u := range c.Timed {
			if j != i && u.At <= t.At && t.At < u.up(c.Duration) {
				now = without(now, u.Links)
			}
		}
		for _, l := range t.Links {
			if !now.LinkAlive(l) {
				return i, fmt.Errorf("%s is dead already at %s", now.LinkName(l), short(t.At))
			}
		}
		if c.Failover != nil {
			continue
		}
		if err := without(now, t.Links).Connected(); err != nil {
			return i, fmt.Errorf("from %s on, %v; write failover with on_disconnect if you intend that", short(t.At), err)
		}
	}
	return 0, nil
}

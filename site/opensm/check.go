package opensm

import (
	"fmt"
	"strings"

	"evbench/site/lft"
	"evbench/site/network"
	"evbench/topology"
)

type kind string

// The kinds.
const (
	deadPort      kind = "dead port"      // an entry names a port without a cable
	missingEntry  kind = "missing entry"  // a switch on the way has no entry for the LID
	missingSwitch kind = "missing switch" // a switch has no entry at all
	looped        kind = "loop"           // a route returns to a switch
	wrongHost     kind = "wrong host"     // a route ends at another node
	wrongPath     kind = "wrong path"     // a message does not take the plan's path
	noCable       kind = "no cable"       // a server of the plan has no cable
	overCapacity  kind = "over capacity"  // a table is shorter than the LIDs
)

type problem struct {
	Kind kind
	Text string
}

// A RefusedError says why tables are not written.
type RefusedError struct {
	Total int
	first []problem // at most 10
}

func (e *RefusedError) Error() string {
	var b strings.Builder
	b.WriteString("refused, packets would be lost or take other paths:")
	for _, p := range e.first {
		fmt.Fprintf(&b, "\n  %s: %s", p.Kind, p.Text)
	}
	if more := e.Total - len(e.first); more > 0 {
		fmt.Fprintf(&b, "\n  … and %d more", more)
	}
	return b.String()
}

const firstProblems = 10

func (e *RefusedError) add(k kind, format string, args ...any) {
	e.Total++
	if len(e.first) < firstProblems {
		e.first = append(e.first, problem{k, fmt.Sprintf(format, args...)})
	}
}

// check follows the route from every switch with hosts, and from those of others such as
// aggregation nodes, to every LID of hosts and others, for any kind of tables, and compares the path of every message with the plan's. It returns nil, or a
// *RefusedError. Only pairs of leaves left out by the plan itself may have no route. O(switches ·
// LIDs + servers²).
func (r *Routes) check() error {
	c := checker{r: r, err: &RefusedError{}, out: r.leftOut(), answers: map[network.Node]bool{}}
	for i := range r.Net.Others() {
		c.answers[r.Net.Leaf(r.Net.Other(i)).Node] = r.Plan != nil // an engine's tables need not
	}
	c.capacity()
	if r.Plan != nil {
		c.cables()
	}
	c.switches()
	for h := range network.Node(r.Net.Hosts()) {
		c.host(h)
	}
	for i := range r.Net.Others() {
		c.host(r.Net.Other(i))
	}
	if r.Plan != nil {
		c.messages()
	}
	if c.err.Total > 0 {
		return c.err
	}
	return nil
}

type checker struct {
	r   *Routes
	err *RefusedError
	out map[[2]network.Node]bool
	// answers are the switches of others, such as aggregation nodes.
	answers map[network.Node]bool
}

// leftOut are the pairs of leaf switches, both ways, that need no route.
func (r *Routes) leftOut() map[[2]network.Node]bool {
	out := map[[2]network.Node]bool{}
	if r.Plan == nil {
		return out
	}
	for _, u := range r.Plan.Tree.Unreachable() {
		a, b := r.places.Node(u[0]), r.places.Node(u[1])
		out[[2]network.Node{a, b}], out[[2]network.Node{b, a}] = true, true
	}
	return out
}

func (c *checker) name(v network.Node) string { return c.r.Net.Info(v).Name }

func (c *checker) capacity() {
	if top := c.r.Net.MaxLID(); top >= c.r.capacity {
		c.err.add(overCapacity, "LIDs up to %d with LMC %d, the tables of the switches end at %d", top, c.r.lmc, c.r.capacity-1)
	}
}

// cables finds cables used by messages of the plan and missing in the network.
func (c *checker) cables() {
	t, places := c.r.Plan.Tree, c.r.places
	said := map[topology.Link]bool{}
	for src := range t.Servers() {
		for dst := range t.Servers() {
			if src == dst {
				continue
			}
			path := c.r.Plan.Path(src, dst)
			if path < 0 {
				continue
			}
			for _, l := range t.PathLinks(t.Leaf(src), t.Leaf(dst), path) {
				if places.Up(l) == 0 && !said[l] {
					said[l] = true
					low, high := t.Ends(l)
					c.err.add(deadPort, "%s, from %s to %s, is alive in the plan and not there in the network",
						places.LinkName(l), c.name(places.Node(low.Switch)), c.name(places.Node(high.Switch)))
				}
			}
		}
	}
}

func (c *checker) switches() {
	n := c.r.Net
	for i := range n.Switches() {
		empty := true
		for _, p := range c.r.Tables.Row(i) {
			empty = empty && p == lft.NoPort
		}
		if s := n.Switch(i); empty && !n.Isolated(s) {
			c.err.add(missingSwitch, "%s has no entry at all", c.name(s))
		}
	}
}

func (c *checker) host(h network.Node) {
	n := c.r.Net
	home := n.Leaf(h).Node
	if home == network.NoNode {
		return // messages reports it if the plan knows the host
	}
	base := int(n.Info(h).LID)
	for i := range n.Switches() {
		s := n.Switch(i)
		if c.out[[2]network.Node{s, home}] || n.HostCount(s) == 0 && !c.answers[s] {
			continue
		}
		for lid := base; lid < base+n.LIDs(h); lid++ {
			if lid < c.r.Tables.LIDs {
				c.walk(s, h, lid)
			}
		}
	}
}

func (c *checker) walk(from, to network.Node, lid int) {
	n, at := c.r.Net, from
	route := func() string { return fmt.Sprintf("%s to %s, LID %d", c.name(from), c.name(to), lid) }
	for range n.Switches() {
		port := c.r.Tables.Port(at, lid)
		next := n.Behind(at, int(port))
		switch {
		case port == lft.NoPort:
			c.err.add(missingEntry, "%s: %s has none", route(), c.name(at))
			return
		case port == 0 || next != network.NoNode && (n.IsHost(next) || n.IsOther(next)) && next != to:
			c.err.add(wrongHost, "%s: ends behind port %d of %s", route(), port, c.name(at))
			return
		case next == network.NoNode:
			c.err.add(deadPort, "%s: port %d of %s leads nowhere", route(), port, c.name(at))
			return
		case next == to:
			return
		}
		at = next
	}
	c.err.add(looped, "%s: passes %s again", route(), c.name(at))
}

// messages compares the path of every message with the plan's, and finds servers without a cable.
func (c *checker) messages() {
	t, places := c.r.Plan.Tree, c.r.places
	for dst, h := range places.Host {
		if c.r.Net.Leaf(h).Node == network.NoNode {
			c.err.add(noCable, "%s, %s in the plan", c.name(h), t.ServerName(dst))
			continue
		}
		for src := range t.Servers() {
			if src != dst {
				if path := c.r.Plan.Path(src, dst); path >= 0 {
					c.message(src, dst, path)
				}
			}
		}
	}
}

func (c *checker) message(src, dst, path int) {
	t, places := c.r.Plan.Tree, c.r.places
	lid := c.r.dlid(src, dst)
	if lid >= c.r.Tables.LIDs {
		return // over capacity
	}
	a, b := t.Leaf(src), t.Leaf(dst)
	links := t.PathLinks(a, b, path)
	at := places.Node(a)
	if t.Cables() > 1 && !c.sameCables(at, lid, links) {
		c.err.add(wrongPath, "%s to %s, LID %d: not by %s and %s, as planned", c.name(places.Host[src]), c.name(places.Host[dst]), lid, links[0], links[1])
		return
	}
	for _, l := range links[:len(links)/2] {
		_, high := t.Ends(l)
		want, next := places.Node(high.Switch), c.r.Net.At(at, int(c.r.Tables.Port(at, lid))).Node
		if next == network.NoNode {
			return
		}
		if next != want {
			c.err.add(wrongPath, "%s to %s, LID %d: through %s, planned through %s",
				c.name(places.Host[src]), c.name(places.Host[dst]), lid, c.name(next), c.name(want))
			return
		}
		at = want
	}
}

// sameCables reports whether a LID takes two cables, up from a switch and down, as far as it leads.
func (c *checker) sameCables(from network.Node, lid int, links []topology.Link) bool {
	port := c.r.Tables.Port(from, lid)
	next := c.r.Net.At(from, int(port)).Node
	if next == network.NoNode || port != c.r.places.Up(links[0]) {
		return next == network.NoNode
	}
	port = c.r.Tables.Port(next, lid)
	return c.r.Net.At(next, int(port)).Node == network.NoNode || port == c.r.places.Down(links[1])
}

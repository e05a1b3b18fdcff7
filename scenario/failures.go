package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"evbench/topology"
)

// failures reads what is dead in a case from the start, and what dies in the
// middle of it. Random links are drawn from those alive after the elements
// before them; their seed is their own, else the case's failure_seed, else that
// of the scenario: so all cases of a scenario that ask for the same number lose
// the same links, and can be compared.
func (d *document) failures(e entry, s *Scenario, c *Case) {
	seed := s.Seed
	scalar(d, e.f.get("failure_seed"), &seed, parseSeed)
	if !e.f.given("failures") || s.Tree == nil {
		return
	}
	at := e.f.get("failures")
	view, good := s.Tree, true
	var timed []field
	for _, f := range d.list(at) {
		links, down, ok := []topology.Link(nil), "", true
		switch {
		case f.node.Kind != yaml.MappingNode:
			links, down, ok = d.named(f, view)
		case has(f.node, "random"):
			links, down, ok = d.random(f, view, seed)
		default:
			var t Timed
			if t, ok = d.timed(f, s.Tree); ok {
				c.Timed = append(c.Timed, t)
				timed = append(timed, f)
			}
		}
		if good = good && ok; down != "" {
			c.Down = append(c.Down, down)
			view = without(view, links)
		}
	}
	c.Failures = view.Dead()
	if !good {
		return
	}
	if err := view.Connected(); err != nil {
		d.fail(at, "with %s dead, %v", strings.Join(c.Down, ", "), err)
		return
	}
	d.timedRules(timed, view, s, c)
}

// without returns view without links that exist.
func without(view *topology.Tree, links []topology.Link) *topology.Tree {
	v, err := view.Without(links...)
	if err != nil {
		panic("scenario: a link that the tree gave is not in the tree: " + err.Error())
	}
	return v
}

func has(n *yaml.Node, key string) bool {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return true
		}
	}
	return false
}

// named reads a link or a spine by its name.
func (d *document) named(f field, view *topology.Tree) ([]topology.Link, string, bool) {
	name := ""
	if !scalar(d, f, &name, parseText) {
		return nil, "", false
	}
	links, err := view.Links(name)
	if err == nil && !slices.ContainsFunc(links, func(l topology.Link) bool { return view.Alive(l.Leaf, l.Spine) }) {
		err = fmt.Errorf("%s is dead already by what stands before it", name)
	}
	if err != nil {
		d.fail(f, "%v", err)
		return nil, "", false
	}
	return links, name, true
}

// random reads {random: {count: 3, seed: 7}} and draws the links.
func (d *document) random(f field, view *topology.Tree, seed uint64) ([]topology.Link, string, bool) {
	at := d.mapping(f, "random").get("random")
	r := d.mapping(at, "count", "seed")
	if !r.given("count") {
		if at.given() && at.node.Kind == yaml.MappingNode {
			d.fail(at, "count is missing: how many links, as in {random: {count: 3}}")
		}
		return nil, "", false
	}
	count := 0
	if !scalar(d, r.get("count"), &count, between(1, view.Leaves()*view.Spines())) {
		return nil, "", false
	}
	if r.given("seed") && !scalar(d, r.get("seed"), &seed, parseSeed) {
		return nil, "", false
	}
	if view.Connected() != nil {
		return nil, "", true // what stands before is at fault, and is said
	}
	links, err := view.Random(count, seed)
	if err != nil {
		d.fail(at, "%v", err)
		return nil, "", false
	}
	return links, fmt.Sprintf("%d random (seed %d)", count, seed), true
}

// timed reads {link: leaf0-spine3, at: 3s, for: 5s}.
func (d *document) timed(f field, tree *topology.Tree) (Timed, bool) {
	var t Timed
	m := d.mapping(f, "link", "at", "for", "random")
	good := true
	for _, name := range []string{"link", "at"} {
		if !m.given(name) {
			d.fail(f, "%s is missing; a timed failure is {link: leaf0-spine3, at: 3s, for: 5s}, a random one {random: {count: 3}}", name)
			return t, false
		}
	}
	if good = scalar(d, m.get("link"), &t.Name, parseText); good {
		links, err := tree.Links(t.Name)
		if t.Links = links; err != nil {
			d.fail(m.get("link"), "%v", err)
			good = false
		}
	}
	good = scalar(d, m.get("at"), &t.At, span(0, maxDuration)) && good
	if m.given("for") {
		good = scalar(d, m.get("for"), &t.For, span(time.Millisecond, maxDuration)) && good
	}
	return t, good
}

// timedRules checks the timed failures of a case; view is the tree at its start.
func (d *document) timedRules(at []field, view *topology.Tree, s *Scenario, c *Case) {
	for _, f := range at {
		if err := c.mayReroute(s); err != nil {
			d.fail(f, "%v", err)
			return
		}
	}
	if i, err := checkTimed(view, c.Timed, c.Duration); err != nil {
		d.fail(at[i], "%v", err)
	}
}

// mayReroute reports why links of the case cannot die while it runs.
func (c *Case) mayReroute(s *Scenario) error {
	if !c.tables() {
		return errors.New("routing pinned gives each message the one path that was planned before the case began, " +
			"so a link must not die under it; take ftree, minhop, spread or ecmp, whose tables are computed anew")
	}
	if s.Fabric.Kind == Hosts && s.Inject.Kind == "" {
		return errors.New("evbench cannot take down links of plain hosts; a timed failure needs inject, or fabric lab or emulate")
	}
	return nil
}

// checkTimed returns the first timed failure that lies outside the case, takes
// down what is down, or leaves a pair of servers without a path at some moment.
// O(n²) views; links die only when a failure begins, so only those moments count.
func checkTimed(view *topology.Tree, timed []Timed, duration time.Duration) (int, error) {
	for i, t := range timed {
		switch {
		case t.At >= duration:
			return i, fmt.Errorf("begins at %s, but the case ends at %s", short(t.At), short(duration))
		case t.up(duration) > duration:
			return i, fmt.Errorf("ends at %s (at + for), but the case ends at %s; leave out for to keep it down until then",
				short(t.At+t.For), short(duration))
		}
	}
	for i, t := range timed {
		now := view
		for j, u := range timed {
			if j != i && u.At <= t.At && t.At < u.up(duration) {
				now = without(now, u.Links)
			}
		}
		for _, l := range t.Links {
			if !now.Alive(l.Leaf, l.Spine) {
				return i, fmt.Errorf("%s is dead already at %s", l, short(t.At))
			}
		}
		if err := without(now, t.Links).Connected(); err != nil {
			return i, fmt.Errorf("from %s on, %v", short(t.At), err)
		}
	}
	return 0, nil
}

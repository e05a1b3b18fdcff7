package scenario

import (
	"fmt"
	"slices"
	"strings"

	"evbench/topology"
)

// failures reads the links that are dead in a case from the start, and those that die during it.
// Random links are drawn from the links alive after the elements before them. Their seed is their
// own, else the case's failure_seed, else the scenario's seed: so cases of a scenario with the same
// number lose the same links, and can be compared.
func (d *document) failures(at field, seed uint64, s *Scenario, c *Case) {
	if !at.Given() || s.Tree == nil {
		return
	}
	view, good := s.Tree, true
	var timed []field
	for _, f := range d.List(at) {
		links, down, ok := []topology.Link(nil), "", true
		switch {
		case !f.Group():
			links, down, ok = d.named(f, &view.Live)
		case f.Has("random"):
			links, down, ok = d.random(f, view, seed)
		case f.Has("server"):
			ok = d.loss(f, s, c)
		default:
			var all []Timed
			all, ok = d.timed(f, s.Tree.Find)
			c.Timed, timed = append(c.Timed, all...), append(timed, slices.Repeat([]field{f}, len(all))...)
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
		d.Fail(at, "with %s dead, %v", strings.Join(c.Down, ", "), err)
		return
	}
	d.timedRules(timed, view, s, c)
}

// changes reports whether one of the failures as written happens while a case is measured.
func changes(at field) bool {
	return slices.ContainsFunc(at.Elements(), func(f field) bool { return f.Has("at") })
}

// without returns view without links that exist.
func without(view *topology.Tree, links []topology.Link) *topology.Tree {
	v, err := view.Without(links...)
	if err != nil {
		panic("scenario: a link that the tree gave is not in the tree: " + err.Error())
	}
	return v
}

func (d *document) named(f field, view *topology.Live) ([]topology.Link, string, bool) {
	name := ""
	if !d.scalar(f, word(&name)) {
		return nil, "", false
	}
	links, err := view.Find(name)
	if err == nil && !slices.ContainsFunc(links, view.LinkAlive) {
		err = fmt.Errorf("%s is dead already by what stands before it", name)
	}
	if err != nil {
		d.Fail(f, "%v", err)
		return nil, "", false
	}
	return links, name, true
}

// drawn reads {random: {count: 3, seed: 7}}, of so many links.
func (d *document) drawn(f field, links int, count *int, seed *uint64) (at field, good bool) {
	at = d.Mapping(f, randomFailure.names()).Get("random")
	_, good = d.section(at, randomFields(count, seed, links), "count: needed: how many links, as in {random: {count: 3}}")
	return at, good
}

// random draws the links of {random: {count: 3, seed: 7}}.
func (d *document) random(f field, view *topology.Tree, seed uint64) ([]topology.Link, string, bool) {
	count := 0
	at, good := d.drawn(f, view.AllLinks(), &count, &seed)
	if !good {
		return nil, "", false
	}
	if view.Connected() != nil {
		return nil, "", true // what stands before is at fault, and is said
	}
	links, err := view.Random(count, seed)
	if err != nil {
		d.Fail(at, "%v", err)
		return nil, "", false
	}
	return links, fmt.Sprintf("%d random (seed %d)", count, seed), true
}

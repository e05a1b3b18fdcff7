package failover

import (
	"fmt"
	"strings"
	"time"

	"evbench/topology"
)

// links know the state of both ends of every link between switches, and which links are held
// out.
type links struct {
	tree *topology.Tree // without dead links
	hold time.Duration
	down [][2]bool       // by link ID: the upper end, the lower
	free []time.Duration // when a link that is up is used again
}

func newLinks(t *topology.Tree, hold time.Duration) links {
	n := t.AllLinks()
	l := links{tree: t.Healthy(), hold: hold, down: make([][2]bool, n), free: make([]time.Duration, n)}
	for _, d := range t.Dead() {
		l.down[t.LinkID(d)] = [2]bool{true, true}
	}
	return l
}

func (l *links) dead(id int) bool { return l.down[id][0] || l.down[id][1] }

// note records what an end says and reports whether that is news: about one of the
// tree's links, and either not known before or read because events were lost.
func (l *links) note(now time.Duration, e End) (news bool) {
	if !l.tree.Has(e.Link) {
		return false
	}
	id, side := l.tree.LinkID(e.Link), 0
	if e.Leaf {
		side = 1
	}
	was, changed := l.dead(id), l.down[id][side] == e.Up
	l.down[id][side] = !e.Up
	if was && !l.dead(id) {
		l.free[id] = now + l.hold
	}
	return changed || e.Reread
}

// heard returns the links that are dead by what their ends have said.
func (l *links) heard() (dead []topology.Link) {
	for id := range l.down {
		if l.dead(id) {
			dead = append(dead, l.tree.LinkOf(id))
		}
	}
	return dead
}

// used returns the links that are not used, and those of them that are up but held out,
// by leaf and spine. No link is held out that servers need to reach each other.
func (l *links) used(now time.Duration) (dead, held []topology.Link) {
	for id := range l.down {
		link := l.tree.LinkOf(id)
		switch {
		case l.dead(id):
			dead = append(dead, link)
		case now < l.free[id]:
			dead, held = append(dead, link), append(held, link)
		}
	}
	if len(held) > 0 && l.without(dead).Connected() != nil {
		clear(l.free)
		return l.used(now)
	}
	return dead, held
}

func (l *links) next(now time.Duration) (at time.Duration, ok bool) {
	for id, free := range l.free {
		if !l.dead(id) && now < free && (!ok || free < at) {
			at, ok = free, true
		}
	}
	return at, ok
}

func (l *links) without(dead []topology.Link) *topology.Tree {
	t, err := l.tree.Without(dead...)
	if err != nil {
		panic(err) // note lets no others in
	}
	return t
}

// disjoint says which servers of a tree cannot reach each other, and because of which
// links; it is empty where all can.
func disjoint(t *topology.Tree) string {
	if t.Connected() == nil {
		return ""
	}
	var pairs []string
	for _, p := range t.Unreachable() {
		pairs = append(pairs, fmt.Sprintf("%s and %s", servers(t, p[0]), servers(t, p[1])))
	}
	return fmt.Sprintf("no path between %s: dead are %s", some(pairs, 3, " or "), some(t.DownNames(), 16, ", "))
}

func servers(t *topology.Tree, leaf int) string {
	first, last := t.First(leaf), t.First(leaf+1)-1
	if first == last {
		return fmt.Sprintf("leaf%d (%s)", leaf, t.ServerName(first))
	}
	return fmt.Sprintf("leaf%d (%s to %s)", leaf, t.ServerName(first), t.ServerName(last))
}

// some joins the first names, and says how many more there are.
func some(names []string, n int, by string) string {
	if len(names) <= n {
		return strings.Join(names, by)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], by), len(names)-n)
}

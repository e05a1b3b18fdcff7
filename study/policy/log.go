package policy

import (
	"cmp"
	"slices"
	"time"

	"evbench/failover"
	"evbench/study/failures"
	"evbench/topology"
)

// A Change is a link that goes down or comes back.
type Change struct {
	At   time.Duration // since the log begins
	Link topology.Link
	Up   bool
}

// A Log is what happened to the links of a tree.
type Log struct {
	From     time.Time
	Span     time.Duration
	Changes  []Change // in order of time
	Failures int      // that it holds
	Skipped  int      // not links of the tree, or without a known begin and end
}

// FromFailures makes a log of failures. A failure that is still there where the log
// ends counts until then. What has no known begin or end, and links that the tree does
// not have, are left out and counted.
func FromFailures(t *topology.Tree, h *failures.History, fs []failures.Failure) Log {
	l := Log{From: h.From, Span: h.To.Sub(h.From)}
	for _, f := range fs {
		links, err := t.Links(h.Links[f.Link].Name)
		if err != nil || len(links) != 1 || !f.Known() && !f.Open {
			l.Skipped++
			continue
		}
		l.Failures++
		l.Changes = append(l.Changes,
			Change{f.Down.Sub(h.From), links[0], false}, Change{f.Up.Sub(h.From), links[0], true})
	}
	slices.SortStableFunc(l.Changes, func(a, b Change) int { return cmp.Compare(a.At, b.At) })
	return l
}

// Moments counts the times at which something changes.
func (l Log) Moments() int {
	n := 0
	for i, c := range l.Changes {
		if i == 0 || c.At > l.Changes[i-1].At {
			n++
		}
	}
	return n
}

// Instant is what a policy would do over a log if everything took no time at all: plan
// and tables always fit what is dead, and only servers without a path to each other have
// to wait.
func Instant(p failover.Policy, l Log, t *topology.Tree) (*Story, error) {
	s := &Story{Policy: p}
	down, begun, state := counts{}, time.Duration(0), State{}
	for i, c := range l.Changes {
		if c.At >= l.Span {
			break
		}
		if c.At > begun {
			s.Spells = append(s.Spells, Spell{begun, c.At - begun, state})
			begun = c.At
		}
		down.change(c)
		if i+1 < len(l.Changes) && l.Changes[i+1].At == c.At {
			continue
		}
		alive, err := t.Without(down.links()...)
		if err != nil {
			return nil, err
		}
		dead := DeadOf(down.links())
		state = State{Standing: alive.Connected() != nil, Plan: dead, Tables: dead}
	}
	if l.Span > begun {
		s.Spells = append(s.Spells, Spell{begun, l.Span - begun, state})
	}
	return s, nil
}

// A Worst is the link of a log that failed most often.
type Worst struct {
	Link     topology.Link
	Failures int
	Down     time.Duration // in all
}

// Worst returns the link that failed most often; of equals the one that was down
// longest, then the first. It is false if none failed.
func (l Log) Worst() (Worst, bool) {
	all := map[topology.Link]*Worst{}
	since := map[topology.Link]time.Duration{}
	for _, c := range l.Changes {
		w := all[c.Link]
		if w == nil {
			w = &Worst{Link: c.Link}
			all[c.Link] = w
		}
		if c.Up {
			w.Down += c.At - since[c.Link]
		} else {
			w.Failures++
			since[c.Link] = c.At
		}
	}
	var found []Worst
	for _, w := range all {
		found = append(found, *w)
	}
	if len(found) == 0 {
		return Worst{}, false
	}
	return slices.MinFunc(found, func(a, b Worst) int {
		return cmp.Or(cmp.Compare(b.Failures, a.Failures), cmp.Compare(b.Down, a.Down), topology.Link.Compare(a.Link, b.Link))
	}), true
}

// counts is how many failures of a link last; a link that has none is not in it.
type counts map[topology.Link]int

// change reports whether a link has gone down, or come back, by the change.
func (n counts) change(c Change) bool {
	if !c.Up {
		n[c.Link]++
		return n[c.Link] == 1
	}
	if n[c.Link]--; n[c.Link] <= 0 {
		delete(n, c.Link)
		return true
	}
	return false
}

func (n counts) links() []topology.Link {
	out := make([]topology.Link, 0, len(n))
	for l := range n {
		out = append(out, l)
	}
	slices.SortFunc(out, topology.Link.Compare)
	return out
}

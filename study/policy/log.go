package policy

import (
	"cmp"
	"slices"
	"time"

	"evbench/failover"
	"evbench/study/failures"
	"evbench/topology"
)

type change struct {
	at   time.Duration // since the log begins
	link topology.Link
	up   bool
}

// A Log is what happened to the links of a tree.
type Log struct {
	From     time.Time
	Span     time.Duration
	changes  []change // in order of time
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
		l.changes = append(l.changes,
			change{f.Down.Sub(h.From), links[0], false}, change{f.Up.Sub(h.From), links[0], true})
	}
	slices.SortStableFunc(l.changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	return l
}

// Moments counts the times at which something changes.
func (l Log) Moments() int {
	n := 0
	for i, c := range l.changes {
		if i == 0 || c.at > l.changes[i-1].at {
			n++
		}
	}
	return n
}

// Instant is what a policy would do over a log if everything took no time at all: plan
// and tables always fit what is dead, and only servers without a path to each other have
// to wait.
func Instant(p failover.Policy, l Log, t *topology.Tree) (*Timeline, error) {
	s := &Timeline{Policy: p}
	down, begun, state := counts{}, time.Duration(0), State{}
	for i, c := range l.changes {
		if c.at >= l.Span {
			break
		}
		if c.at > begun {
			s.Intervals = append(s.Intervals, Interval{begun, c.at - begun, state})
			begun = c.at
		}
		down.change(c)
		if i+1 < len(l.changes) && l.changes[i+1].at == c.at {
			continue
		}
		alive, err := t.Without(down.links()...)
		if err != nil {
			return nil, err
		}
		dead := deadOf(down.links())
		state = State{stopped: alive.Connected() != nil, plan: dead, tables: dead}
	}
	if l.Span > begun {
		s.Intervals = append(s.Intervals, Interval{begun, l.Span - begun, state})
	}
	return s, nil
}

type worst struct {
	link     topology.Link
	failures int
	down     time.Duration // in all
}

// worst returns the link that failed most often; of equals the one that was down
// longest, then the first. It is false if none failed.
func (l Log) worst() (w worst, ok bool) {
	all := map[topology.Link]worst{}
	since := map[topology.Link]time.Duration{}
	for _, c := range l.changes {
		of := all[c.link]
		if of.link = c.link; c.up {
			of.down += c.at - since[c.link]
		} else {
			of.failures++
			since[c.link] = c.at
		}
		all[c.link] = of
	}
	for _, of := range all {
		if !ok || cmp.Or(cmp.Compare(w.failures, of.failures), cmp.Compare(w.down, of.down), topology.Link.Compare(of.link, w.link)) < 0 {
			w, ok = of, true
		}
	}
	return w, ok
}

// counts is how many failures of a link last; a link that has none is not in it.
type counts map[topology.Link]int

func (n counts) change(c change) bool {
	if !c.up {
		n[c.link]++
		return n[c.link] == 1
	}
	if n[c.link]--; n[c.link] <= 0 {
		delete(n, c.link)
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

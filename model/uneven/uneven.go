// Package uneven answers: which plan is best where links or hosts are slower than others, and how long
// does it take?
package uneven

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/plan"
	"evbench/routing"
	"evbench/scheduler"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// Slower says what a plan does with links and hosts that are slower than most.
type Slower struct {
	Uses, Avoids []topology.SlowLink
	Hosts        []topology.SlowHost
	Faster       bool    // as in topology.Rates, where no least number of phases is known
	Tree         float64 // where one is: the bound of the tree, whose links carry less than the network's
	Least        float64 // no exchange takes less; 0: not known
	Phased       float64 // no plan takes less, whose phases last as long as their slowest message
	Time, Other  float64 // of the plan, and of the one that uses all slow links; 0: not known
	proof                // of Phased
	unit         string  // of times
}

// Build is plan.Build for a tree with slow links and hosts: of the plans that use slow links and those
// that take them for dead it returns the one that takes less time. A plan that does not choose paths
// uses them, and its time is not known.
//
// No plan takes less than the bound of the tree with whole links, nor than a slow host needs for its
// messages, one after the other, nor than InPhases.
func Build(t *topology.Tree, o plan.Options, r topology.Rates) (*plan.Plan, *Slower, error) {
	least, by := 0.0, proof{} // the bound of the first plan, which uses all links
	p, s, err := Around(t, r.Slow, "message times", func(t *topology.Tree) (*plan.Plan, float64, error) {
		p, err := plan.Build(t, o)
		if err != nil || !p.Pinned() {
			return p, 0, err
		}
		if least == 0 {
			least, by = float64(p.Bound.Phases), proof{[]string{p.Proof()}, []string{"bound proven by " + p.Proof()}}
		}
		if o.Schedule != schedules.FORS {
			return p, Time(p.Schedule, t, r), nil
		}
		keep := o.OnePath || cmp.Or(o.Objective, schedules.FewestPhases) != schedules.FewestPhases
		if made := Gather(p.Schedule, t, r, p.Bound.Phases, keep); made != p.Schedule {
			p.Schedule = made
			p.Paths, err = routing.CountPaths(t, p.AllPaths()), p.Judge()
		}
		return p, Time(p.Schedule, t, r), err
	})
	if s == nil {
		return p, s, err
	}
	s.Hosts, s.Faster, s.Least = r.Hosts, r.Faster, least
	if r.Faster && r.Least > 0 {
		s.Tree, s.Faster, s.Least = least, false, math.Ceil(r.Least*(1-1e-9))
		by = proof{[]string{scheduler.KindLP}, []string{"no routes load the fullest cable less, by its rate"}}
		for rank := range t.Servers() {
			if n := float64(t.Load(rank)); n >= s.Least {
				s.Least, by = n, proof{[]string{scheduler.KindServer}, []string{fmt.Sprintf("%s has %.6g messages to send or to receive", t.HostName(rank), n)}}
			}
		}
	}
	if s.Time > 0 {
		s.Uses = Over(p.Schedule, t, s.Uses)
	}
	s.Phased, _, s.proof = InPhases(t, r.Hosts, int(s.Least), r.Counted || s.Tree == 0 && !s.Faster)
	if s.proof = by.and(s.proof); len(s.of) > 1 && len(s.why) > 1 && s.of[0] == scheduler.KindServer {
		s.proof = proof{s.of[1:], s.why[1:]}
	}
	for _, h := range r.Hosts {
		n := t.Load(h.Rank)
		if s.Least = max(s.Least, float64(n)/h.Share); float64(n)/h.Share >= s.Phased*(1-1e-9) {
			s.proof = proof{[]string{t.HostName(h.Rank)}, []string{fmt.Sprintf("%s has %d messages to send or to receive over a cable of %s of the link rate", t.HostName(h.Rank), n, show.Percent(h.Share))}}
		}
	}
	return p, s, err
}

// Around builds several plans and returns the fastest: with all slow links in use, and without the
// links up to one of their shares, for each share. build returns a plan and its time, in that unit; a
// plan whose time is 0, not known, is returned at once. If none is built, Around returns the first
// error of build. O(distinct shares) plans.
func Around[P any](t *topology.Tree, slow []topology.SlowLink, unit string, build func(*topology.Tree) (P, float64, error)) (best P, about *Slower, err error) {
	shares := []float64{0}
	for _, x := range slow {
		shares = append(shares, x.Share)
	}
	slices.Sort(shares)
	all := 0.0
	for _, most := range slices.Compact(shares) {
		s := &Slower{unit: unit}
		var avoid []topology.Link
		for _, x := range slow {
			if x.Share <= most {
				s.Avoids, avoid = append(s.Avoids, x), append(avoid, x.Link)
			}
		}
		without, failed := t.Without(avoid...)
		if failed != nil {
			return best, about, fmt.Errorf("slow links: %w", failed)
		}
		p, time, failed := build(without)
		if failed != nil {
			err = cmp.Or(err, failed)
			continue
		}
		if len(avoid) == 0 {
			all = time
		}
		s.Time, s.Other = time, all
		for _, x := range slow {
			if without.LinkAlive(x.Link) {
				s.Uses = append(s.Uses, x)
			}
		}
		if about == nil || time == 0 || time < about.Time*(1-1e-9) {
			best, about = p, s
		}
		if time == 0 {
			break
		}
	}
	if about != nil {
		err = nil
	}
	return best, about, err
}

// Any reports whether links or hosts differ from most.
func (s *Slower) Any() bool {
	return s.Faster || s.Tree > 0 || len(s.Uses)+len(s.Avoids)+len(s.Hosts) > 0
}

// Optimal reports whether no plan takes less time.
func (s *Slower) Optimal() bool { return s.Time > 0 && !s.Faster && s.Time <= s.Phased*(1+1e-9) }

// Bound says how far the plan is from what no plan takes less than, "" where links and hosts are alike.
func (s *Slower) Bound() string {
	switch {
	case !s.Any():
		return ""
	case s.Faster || s.Phased == 0 || s.Time == 0:
		return "not known"
	case s.Optimal():
		return fmt.Sprintf("%.6g: optimal (proven by %s)", s.Phased, strings.Join(s.of, ", "))
	}
	return fmt.Sprintf("%.6g: gap %.6g above the bound (%s)", s.Phased, s.Time-s.Phased, strings.Join(s.of, ", "))
}

// Answer completes an answer where links or hosts differ. takes says how long the plan takes.
func (s *Slower) Answer(a answer.Answer, takes string, t *topology.Tree) answer.Answer {
	a.Verdict = answer.Unknown
	switch {
	case s.Faster:
		a.Sentence = takes + " with one message at a time on each link; some carry more, and the least is not known."
		return a
	case s.Optimal():
		a.Verdict, a.Sentence, a.Why = answer.Good, takes+": no plan is shorter.", s.why
		return a
	case s.Time > 0 && s.Phased > 0:
		a.Sentence = fmt.Sprintf("%s: no plan takes less than %.6g, %.6g less than this one, and whether a shorter one exists is not known", takes, s.Phased, s.Time-s.Phased)
		if s.Tree > 0 {
			a.Sentence += "; over tables of the engine minmax an order of messages may take less"
			a.Next = []string{answer.Typed(append(append([]string{"evbench", "plan"}, plan.TreeFlags(t)...), "--engine", "minmax")...)}
		}
		a.Sentence, a.Why = a.Sentence+".", s.why
		return a
	}
	if a.Sentence = takes + "; the least with slower links is not known."; s.Time == 0 {
		names := lists.Of(s.Hosts, func(h topology.SlowHost) string { return t.HostName(h.Rank) })
		for _, x := range s.Uses {
			names = append(names, t.LinkName(x.Link))
		}
		a.Sentence = fmt.Sprintf("%s if %s were not slower; how long it takes with slower links is not known.", takes, show.Few(names))
		a.Next = []string{answer.Typed(append(append([]string{"evbench", "plan"}, plan.TreeFlags(t)...), "--schedule", schedules.FORS)...)}
	}
	return a
}

// Describe prints what is done with each slow link.
func (s *Slower) Describe(w io.Writer, t *topology.Tree) {
	if s.Tree > 0 {
		fmt.Fprintf(w, "the bound of the tree, %.6g, is of planes that carry one message at a time; of the network, whose cables carry several, it is %.6g\n", s.Tree, s.Least)
	}
	if s.Phased > s.Least {
		fmt.Fprintf(w, "%.6g is the bound of plans in phases, which last as long as their slowest message; that of whole links and of slow hosts is %.6g\n", s.Phased, s.Least)
	}
	for _, x := range s.Avoids {
		fmt.Fprintf(w, "%s (%s of the usual rate) counts as dead: with all slow links in use the plan takes %.6g %s\n", t.LinkName(x.Link), show.Percent(x.Share), s.Other, s.unit)
	}
	for _, h := range s.Hosts {
		fmt.Fprintf(w, "%s has %s of the link rate: each of its messages takes %.3g times as long\n", t.HostName(h.Rank), show.Percent(h.Share), 1/h.Share)
	}
	for _, x := range s.Uses {
		if s.Time == 0 {
			fmt.Fprintf(w, "%s (%s of the usual rate) is planned as a whole link: this schedule chooses no paths\n", t.LinkName(x.Link), show.Percent(x.Share))
			continue
		}
		fmt.Fprintf(w, "%s (%s of the usual rate) is in use: a message over it takes %.3g times as long; %.6g %s in all\n", t.LinkName(x.Link), show.Percent(x.Share), 1/x.Share, s.Time, s.unit)
	}
}

// Package uneven answers: which plan is best where links or hosts are slower than others, and how long
// does it take?
package uneven

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/plan"
	"evbench/scheduler"
	"evbench/scheduler/order"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// Slower says what a plan does with links and hosts that are slower than most.
type Slower struct {
	Uses, Avoids []topology.SlowLink
	Hosts        []topology.SlowHost
	Faster       bool    // as in topology.Rates, where no least number of phases is known
	Tree         float64 // where one is: the bound of the tree, whose links carry less than the network's
	Least        float64 // no plan in phases takes less, whatever messages share in them; 0: not known
	Time, Other  float64 // of the plan, and of the one that uses all slow links; 0: not known
	proof                // of Least
	unit         string  // of times
}

// A proof says what proves a bound: its name, and sentences.
type proof struct {
	of  string
	why []string
}

// Build is plan.Build for a tree with slow links and hosts: of the plans that use slow links and those
// that take them for dead it returns the one that takes less time. A plan that does not choose paths
// uses them.
func Build(t *topology.Tree, o plan.Options, r topology.Rates) (*plan.Plan, *Slower, error) {
	least, by := 0.0, proof{} // the bound of the first plan, which uses all links
	p, s, err := Around(t, r.Slow, "message times", func(t *topology.Tree) (*plan.Plan, float64, error) {
		p, err := plan.Build(t, o)
		if err != nil {
			return p, 0, err
		}
		p.Rates = topology.Rates{Hosts: r.Hosts, Slow: lists.Filter(r.Slow, func(x topology.SlowLink) bool { return t.LinkAlive(x.Link) })}
		if least == 0 {
			least, by = whole(p, len(r.Hosts)+len(r.Slow) > 0), proof{p.Proof(), []string{"bound proven by " + p.Proof()}}
		}
		if !p.Pinned() {
			return p, 0, nil
		}
		if o.Schedule != schedules.FORS {
			return p, p.Cost(plan.Equal, 0).Duration, nil
		}
		if slow := len(r.Hosts)+len(r.Slow) > 0; slow || p.Gap() > 0 {
			if shared := order.Share(p.Schedule, t, p.Rates); shared != p.Schedule {
				if p.Schedule = shared; slow {
					p.Bound = scheduler.Bound{} // which is of phases without shared links
				}
				err = p.Judge()
			}
		}
		if len(r.Hosts)+len(r.Slow) == 0 {
			return p, 0, err // there is one such plan
		}
		return p, p.Cost(plan.Equal, 0).Duration, err
	})
	if s == nil {
		return p, s, err
	}
	if len(r.Hosts)+len(r.Slow) == 0 && !r.Faster {
		return p, s, err
	}
	s.Hosts, s.Faster, s.Least = r.Hosts, r.Faster, least
	if r.Faster && r.Least > 0 {
		s.Tree, s.Faster, s.Least = least, false, r.Least*(1-1e-9)
		if len(r.Hosts)+len(r.Slow) == 0 {
			s.Least = math.Ceil(s.Least)
		}
		by = proof{scheduler.KindLP, []string{"no routes load the fullest cable less, by its rate"}}
	}
	if s.Time > 0 {
		s.Uses = Over(p.Schedule, t, s.Uses)
	}
	s.Time = p.Cost(plan.Equal, o.Seed).Duration
	s.proof = by
	if p.Schedule != nil {
		if b := order.OfHosts(p.Schedule, t, r.Hosts).Bound(); b.Steps >= s.Least {
			s.Least, s.proof = b.Steps, hostProof(t, r.Hosts, b)
		}
	}
	return p, s, err
}

// whole is the bound of a plan, in message times, which a plan attains whose phases have lengths: such a plan needs no
// whole number for what links carry.
func whole(p *plan.Plan, lengths bool) float64 {
	b, t := p.Bound, p.Tree
	if !lengths || b.Kind == scheduler.KindServer {
		return float64(b.Phases)
	}
	if b.Kind == scheduler.KindLeaf {
		links := 0
		for id := range t.LowerLinks() {
			if l := t.LinkOf(id); l.Leaf == b.Leaf && t.LinkAlive(l) {
				links++
			}
		}
		out, in := t.Crossing(b.Leaf)
		return float64(max(out, in)) / float64(max(1, links))
	}
	return float64(b.Phases - 1)
}

// hostProof says which host needs as long as a bound that hosts alone prove.
func hostProof(t *topology.Tree, slow []topology.SlowHost, b order.Bound) proof {
	rank := b.Host % t.Servers()
	p, alone := proof{scheduler.KindServer, nil}, float64(b.HostLoad)
	what := fmt.Sprintf("%s has %d messages to send or to receive", t.HostName(rank), b.HostLoad)
	for _, h := range slow {
		if h.Rank == rank {
			p.of, what, alone = t.HostName(rank), what+fmt.Sprintf(" over a cable of %s of the link rate", show.Percent(h.Share)), alone/h.Share
		}
	}
	if p.why = []string{what}; b.Steps > alone*(1+1e-9) {
		p.why = append(p.why, "other hosts have more messages for slow hosts, or in phases without them")
	}
	return p
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
func (s *Slower) Optimal() bool {
	return s.Time > 0 && !s.Faster && s.Least > 0 && s.Time <= s.Least*(1+1e-9)
}

// Bound says how far the plan is from what no plan takes less than, "" where links and hosts are alike.
func (s *Slower) Bound() string {
	switch {
	case !s.Any():
		return ""
	case s.Faster || s.Least == 0 || s.Time == 0:
		return "not known"
	case s.Optimal():
		return fmt.Sprintf("%.6g: optimal (proven by %s)", s.Least, s.of)
	}
	return fmt.Sprintf("%.6g: gap %.6g above the bound (%s)", s.Least, s.Time-s.Least, s.of)
}

// Answer says what a plan promises where links or hosts differ. takes says how long it takes.
func (s *Slower) Answer(q answer.Question, takes string, t *topology.Tree) answer.Answer {
	f, e := answer.Finding{Text: takes, Place: answer.At}, answer.Evidence{Why: s.why}
	doubt := func(format string, args ...any) { f.Doubts = []answer.Doubt{{Text: fmt.Sprintf(format, args...)}} }
	switch {
	case s.Faster:
		f.Text, e.Why = takes+" with one message at a time on each link", nil
		doubt("some carry more, and the least is not known")
	case s.Optimal():
		f.Cause = "no plan is shorter"
	case s.Time > 0 && s.Least > 0:
		doubt("no plan takes less than %.6g, %.6g less than this one, and whether a shorter one exists is not known", s.Least, s.Time-s.Least)
	case s.Time == 0:
		names := lists.Map(s.Hosts, func(h topology.SlowHost) string { return t.HostName(h.Rank) })
		for _, x := range s.Uses {
			names = append(names, t.LinkName(x.Link))
		}
		f.Text, e.Why = fmt.Sprintf("%s if %s were not slower", takes, show.Few(names)), nil
		doubt("how long it takes with slower links is not known")
		e.Next = []string{answer.Typed(append(append([]string{"evbench", "plan"}, plan.TreeFlags(t)...), "--schedule", schedules.FORS)...)}
	default:
		e.Why = nil
		doubt("the least with slower links is not known")
	}
	e.Findings = []answer.Finding{f}
	return answer.Decide(q, e)
}

// Describe prints what is done with each slow link.
func (s *Slower) Describe(w io.Writer, t *topology.Tree) {
	if s.Tree > 0 {
		fmt.Fprintf(w, "the bound of the tree, %.6g, is of planes that carry one message at a time; of the network, whose cables carry several, it is %.6g\n", s.Tree, s.Least)
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

// Over returns which of some slow links have a message. O(messages).
func Over(s *scheduler.Schedule, t *topology.Tree, slow []topology.SlowLink) (used []topology.SlowLink) {
	if len(slow) == 0 {
		return nil
	}
	has, leaf := map[topology.Link]bool{}, t.LeafOfRanks()
	for m := range s.All() {
		if m.Spine != scheduler.None {
			for _, l := range t.PathLinks(leaf[m.Src], leaf[m.Dst], t.PathOf(m.Spine, s.Top(m.Src, m.Dst))) {
				has[l] = true
			}
		}
	}
	for _, x := range slow {
		if has[x.Link] {
			used = append(used, x)
		}
	}
	return used
}

package live

import (
	"maps"
	"slices"
	"strings"
	"time"

	"evbench/bench"
	"evbench/internal/answer"
	"evbench/plan"
	"evbench/results"
	"evbench/topology"
)

// A State is what the events of a run so far come to. A copy of it stays as it is while
// the original takes further events.
type State struct {
	Manifest  *results.Manifest // nil: the run has not begun
	Cases     []bench.Planned
	Limit     time.Duration
	Last      bench.Progress // of Begun or of a slice; the last but for Done and what comes beside it
	Rates     []Rate         // of the slice under way, or of the last
	Summary   results.Summary
	Links     map[string][]results.LinkCount // by case: what links carried in its slices
	Failovers []results.Failover             // of the slices so far, and of that under way
	Ended     bool

	dead   []topology.Link // in the slice under way
	inUse  *plan.Plan      // there, where it has changed
	since  time.Time       // the first slice began
	slice  time.Time       // that under way began
	beside time.Duration   // what slices have taken beside their measured parts
	now    time.Time
}

// A Rate is how many events one server built per second, the mean over all, in the
// interval that ends at a moment of the measured part.
type Rate struct {
	At           time.Duration
	EventsPerSec float64
}

// Take adds an event.
func (s *State) Take(p bench.Progress) {
	s.now = p.At
	switch e := p.Event.(type) {
	case bench.Begun:
		s.Manifest, s.Cases, s.Limit, s.Last = &e.Manifest, e.Cases, e.Limit, p
	case bench.Installing:
		s.Last, s.Rates, s.slice = p, nil, p.At
		if s.since.IsZero() {
			s.since = p.At
		}
		s.dead, s.inUse = nil, nil
		if c := s.Case(p.Case); c != nil {
			s.dead = c.Plan.Tree.Dead()
		}
	case bench.WarmingUp:
		s.Last = p
	case bench.Measuring:
		s.Last = p
		if e.Elapsed > 0 {
			s.Rates = append(s.Rates, Rate{e.Elapsed, e.Interval})
		}
	case bench.LinksChanged:
		s.change(e.Down, e.Up)
	case bench.Replanned:
		s.inUse = e.Plan
	case bench.FailedOver:
		s.failedOver(e.Failover)
	case bench.Done:
		s.beside += max(0, p.At.Sub(s.slice)-p.Duration)
		s.Last, s.Summary = p, s.pending(e.Summary)
		s.done(e)
	case bench.RoundDone:
		s.Summary = s.pending(e.Summary)
	case bench.Ended:
		s.Summary, s.Ended = e.Summary, true
	}
}

// pending is the summary of a run that goes on. Its answer is not final, what is not resolved may be in the
// end, and without a slice of the control nothing is.
func (s *State) pending(sum results.Summary) results.Summary {
	sum.Cases = slices.Clone(sum.Cases)
	controlled := slices.ContainsFunc(s.Cases, func(c bench.Planned) bool { return c.Control })
	for i, c := range sum.Cases {
		if e := c.Estimate; c.Verdict == results.Unresolved || controlled && !c.Control && e != nil && e.Of != results.OfRatio {
			sum.Cases[i].Verdict = results.Pending
		}
	}
	if sum.Answer != nil {
		a := *sum.Answer
		a.Verdict, a.Why = answer.Pending, nil
		sum.Answer = &a
	}
	return sum
}

func (s *State) change(down, up []topology.Link) {
	s.dead = slices.Concat(topology.Minus(s.dead, slices.Concat(down, up)), down)
	slices.SortFunc(s.dead, topology.Link.Compare)
}

// failedOver keeps a fail-over. Links that others have changed are known by it alone.
func (s *State) failedOver(f results.Failover) {
	s.Failovers = append(slices.Clip(s.Failovers), f)
	if c := s.Case(f.Case); c != nil && strings.HasPrefix(f.Reason, results.FromOutside) {
		s.change(linksOf(c.Plan.Tree, f.Down), linksOf(c.Plan.Tree, f.Up))
	}
}

func linksOf(t *topology.Tree, names []string) (out []topology.Link) {
	for _, name := range names {
		if links, err := t.Links(name); err == nil {
			out = append(out, links...)
		}
	}
	return out
}

// done takes what a slice came to. Its fail-overs are now known with their rates.
func (s *State) done(e bench.Done) {
	s.Failovers = slices.DeleteFunc(slices.Clone(s.Failovers), func(f results.Failover) bool {
		return slices.ContainsFunc(e.Slice.Failovers, func(x results.Failover) bool { return x.Case == f.Case && x.Repeat == f.Repeat })
	})
	s.Failovers = append(s.Failovers, e.Slice.Failovers...)
	if e.Links == nil {
		return
	}
	sum := slices.Clone(s.Links[e.Slice.Name])
	for i, l := range e.Links {
		l.Repeat = 0
		if i == len(sum) {
			sum = append(sum, l)
		} else {
			sum[i].Add(l)
		}
	}
	s.Links = maps.Clone(s.Links)
	if s.Links == nil {
		s.Links = map[string][]results.LinkCount{}
	}
	s.Links[e.Slice.Name] = sum
}

// Case returns a planned case by its name, nil where there is none.
func (s *State) Case(name string) *bench.Planned {
	i := slices.IndexFunc(s.Cases, func(c bench.Planned) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Cases[i]
}

// Plan returns the plan in use in a case, and the links that are dead there: of the case under way
// now, of others when they begin.
func (s *State) Plan(c *bench.Planned) (*plan.Plan, []topology.Link) {
	switch {
	case c.Name != s.Last.Case:
		return c.Plan, c.Plan.Tree.Dead()
	case s.inUse != nil:
		return s.inUse, s.dead
	}
	return c.Plan, s.dead
}

// Took is how long the run has been measuring, as of the last event.
func (s *State) Took() time.Duration {
	if s.since.IsZero() {
		return 0
	}
	return s.now.Sub(s.since)
}

// Left is how long the run still takes, as of the last event: the measured parts that are
// to come, and beside each what it took beside those before, in the mean. most: it may
// be over sooner, when the answer is resolved.
func (s *State) Left() (left time.Duration, most bool) {
	if s.Ended || len(s.Cases) == 0 {
		return 0, false
	}
	left = s.leftOfRound()
	if s.Last.Rounds == 0 {
		return max(left, s.Limit-s.Took()), true
	}
	if rounds := s.Last.Rounds - max(1, s.Last.Round); rounds > 0 {
		left += time.Duration(rounds) * s.sum(func(bench.Planned) bool { return true })
	}
	return left, false
}

func (s *State) leftOfRound() time.Duration {
	measured := map[string]bool{}
	for _, x := range s.Summary.Slices {
		if x.Round == s.Last.Round-1 {
			measured[x.Case] = true
		}
	}
	left := s.sum(func(c bench.Planned) bool { return !measured[c.Name] })
	some := left == 0 || s.Last.Count > 0 && s.Last.Count < len(s.Cases) // slices once more, or a round of some cases
	if some {
		again := max(0, s.Last.Count-s.Last.Index-1)
		left = time.Duration(again) * s.sum(func(bench.Planned) bool { return true }) / time.Duration(len(s.Cases))
	}
	if _, done := s.Last.Event.(bench.Done); !done && !s.slice.IsZero() {
		if some {
			left += s.Last.Duration
		}
		left -= min(s.now.Sub(s.slice), s.Last.Duration+s.each())
	}
	return max(0, left)
}

func (s *State) sum(of func(bench.Planned) bool) (sum time.Duration) {
	for _, c := range s.Cases {
		if of(c) {
			sum += c.Duration + s.each()
		}
	}
	return sum
}

// each is what a slice takes beside its measured part.
func (s *State) each() time.Duration {
	return s.beside / time.Duration(max(1, len(s.Summary.Slices)))
}

package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"evbench/builder"
	"evbench/fabric"
	"evbench/internal/lists"
	"evbench/results"
	"evbench/results/attribution"
	"evbench/results/culprit"
	"evbench/scenario"
)

// A Burst is a short slice of a case that is watched.
type Burst struct {
	Took time.Duration // with its set-up
	Busy time.Duration // in which a server's link carried its messages, those of the warm-up, too
	// Rejected says how the machine disturbed the burst, so that it does not count; "": it counts.
	Rejected string
	// Causes are those of the last bursts that count, together, or of the last few of them; Sec is how long these were.
	Causes []attribution.Cause
	Sec    float64
	Alone  []attribution.Cause // those of this burst, which may be a hiccup; of a thin one, those that it shows, too
}

// Numbers of bursts.
const (
	// BurstsTogether is of how many bursts causes are those: what began three bursts ago is half of them. What began
	// just now is seen in the last burstsFew.
	BurstsTogether, burstsFew = 6, 3
	// burstsRemembered is of how many bursts the usual delay is known.
	burstsRemembered = 20
)

// Watch measures the one case of the work in bursts until next, which is told of each, says that there is no more, or ctx
// ends; next returns how long to pause before another one. Workers stay meanwhile and send nothing. base, if not nil,
// is a run of the same case: pairs are held against what they took there. Nothing is kept; progress is reported as that of rounds.
func Watch(ctx context.Context, w Work, o Options, base *results.Run, next func(Burst) (pause time.Duration, more bool)) error {
	own := *w.Scenario // whose seed differs in each burst
	s := &own
	r := &runner{s: s, o: o, f: w.Fabric, cases: w.Cases, slow: map[string]*slowness{}, plan: rounds{Rounds: scenario.Rounds{Limit: s.Rounds.Limit}, seed: s.Seed, cases: 1}}
	r.o.JoinTimeout = cmp.Or(r.o.JoinTimeout, joinTimeout)
	r.open = func() (results.Sink, error) { return pairsOnly{}, nil }
	if base != nil {
		r.expect = func(m *measured, e *attribution.Evidence) {
			if !culprit.Expect(e, m.Plan, base, m.Name) {
				r.keep(fmt.Errorf("case %q: the base counted other pairs", m.Name))
			}
		}
	}
	return r.session(ctx, func(ctx context.Context) (err error) {
		if r.checked, err = r.f.Check(ctx, fabric.Joined{Tree: s.Tree, Hosts: r.ctl.Hosts(), Log: r.o.Log, Survey: r.ctl.Survey}); err == nil {
			err = r.settleBarriers(ctx)
		}
		if err == nil {
			err = r.begin()
		}
		if err != nil {
			return err
		}
		r.began = time.Now()
		return r.watched(ctx, next)
	})
}

// pairsOnly has pairs counted, and keeps nothing.
type pairsOnly struct{ results.Nowhere }

func (pairsOnly) Keeps() results.Keeps { return results.Keeps{Pairs: true} }

// watched measures bursts of the one case.
func (r *runner) watched(ctx context.Context, next func(Burst) (time.Duration, bool)) error {
	if !r.pairs {
		return fmt.Errorf("watch: pairs of %d servers are not counted, at most %d", r.s.Tree.Servers(), maxPairsRounds)
	}
	name := r.cases[0].Name
	var kept []attribution.Evidence // of the bursts that count, the last ones
	var slow []attribution.Cause    // of the last burst that counts, where it is thin
	for {
		s := &slowness{}
		for _, e := range kept {
			s.all.Add(e)
			s.each = append(s.each, attribution.Find(e))
		}
		r.slow[name] = s
		r.s.Seed++
		began := time.Now()
		m, err := r.slice(ctx, 0, 0, 1)
		if err != nil {
			return err
		}
		r.plan.done, r.plan.measured = r.plan.done+1, r.plan.measured+1
		r.done = r.done[max(0, len(r.done)-burstsRemembered):]
		if m.rejected == "" {
			kept = append(kept, s.last)
			kept = slices.Clone(kept[max(0, len(kept)-BurstsTogether+1):])
		}
		b := Burst{Took: time.Since(began), Busy: r.busy(m), Rejected: m.rejected, Causes: s.causes, Sec: s.all.Sec}
		switch {
		case m.rejected != "":
		case r.thin():
			b.Causes = still(attribution.Thin(kept), slow, kept)
			slow = b.Causes
			b.Alone = lists.Filter(b.Causes, func(c attribution.Cause) bool { return c.Shows(kept[len(kept)-1]) })
		default:
			b.Alone = s.each[len(s.each)-1]
			b.Causes = append(b.Causes, lately(kept, s)...)
		}
		pause, more := next(b)
		if !more {
			return nil
		}
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return context.Cause(ctx)
		}
	}
}

// thin reports whether servers send only some of their messages in a burst.
func (r *runner) thin() bool { return r.s.Event.Sizes.Fanout > 0 }

// still adds to causes of thin bursts those of the burst before that one of the last two shows by itself.
func still(now, before []attribution.Cause, kept []attribution.Evidence) []attribution.Cause {
	return append(now, lists.Filter(before, func(c attribution.Cause) bool {
		return !c.Among(now) && slices.ContainsFunc(kept[max(0, len(kept)-2):], c.Shows)
	})...)
}

// busy is how long a server's link carried the messages of a burst; where its rate is not known, how long they took.
func (r *runner) busy(m *measured) time.Duration {
	all := float64(m.outcome.Exchanges)
	busy, one := m.outcome.Span.Seconds()/max(1, all), r.s.ExchangeTime().Seconds()
	switch {
	case r.thin():
		busy = min(busy, one*float64(r.s.Event.Sizes.Fanout)/float64(builder.RolesOf(r.s.Tree).MostFanout()))
	case one > 0 && m.Prediction.Efficiency > 0:
		busy = min(busy, one/m.Prediction.Efficiency)
	}
	return time.Duration(busy * (all + float64(r.s.Warmup)) * float64(time.Second))
}

// lately are the causes of the last few bursts that those of all do not hold.
func lately(kept []attribution.Evidence, s *slowness) []attribution.Cause {
	if len(kept) <= burstsFew {
		return nil
	}
	var few attribution.Evidence
	for _, e := range kept[len(kept)-burstsFew:] {
		few.Add(e)
	}
	return lists.Filter(attribution.Over(few, s.each[len(s.each)-burstsFew:]), func(c attribution.Cause) bool {
		return !c.Among(s.causes)
	})
}

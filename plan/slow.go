package plan

import (
	"fmt"
	"io"

	"evbench/internal/answer"
	"evbench/internal/show"
	"evbench/scheduler"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// Slower says what a plan does with links that are slower than most.
type Slower struct {
	Uses, Avoids []topology.SlowLink
	Time, Other  float64 // of the plan, and of the one that uses all slow links; 0: not known
	unit         string  // of times
}

// BuildSlow is Build for a tree with slow links: of the plans that use them and those that take
// them for dead it returns the one that takes less time. A plan that does not choose paths uses
// them, and its time is not known.
func BuildSlow(t *topology.Tree, o Options, slow []topology.SlowLink) (*Plan, *Slower, error) {
	return Around(t, slow, "message times", func(t *topology.Tree) (*Plan, float64, error) {
		p, err := Build(t, o)
		if err != nil || !p.Pinned() {
			return p, 0, err
		}
		return p, p.Schedule.Time(t, slow), nil
	})
}

// Around builds plans with and without slow links, whose times have a unit, and returns the better
// one. build returns its time, 0 where it is not known.
func Around[P any](t *topology.Tree, slow []topology.SlowLink, unit string, build func(*topology.Tree) (P, float64, error)) (P, *Slower, error) {
	type way struct {
		p     P
		about *Slower
	}
	all := 0.0
	w, err := scheduler.AroundSlow(t, slow, func(without *topology.Tree, avoid []topology.SlowLink) (way, float64, error) {
		p, time, err := build(without)
		if err != nil {
			return way{}, 0, err
		}
		if len(avoid) == 0 {
			all = time
		}
		about := &Slower{Avoids: avoid, Time: time, Other: all, unit: unit}
		for _, x := range slow {
			if without.LinkAlive(x.Link) {
				about.Uses = append(about.Uses, x)
			}
		}
		return way{p, about}, time, nil
	})
	return w.p, w.about, err
}

// Any reports whether links are slow.
func (s *Slower) Any() bool { return len(s.Uses)+len(s.Avoids) > 0 }

// Answer completes an answer where links are slow: bounds say nothing of that. takes says how long
// the plan takes.
func (s *Slower) Answer(a answer.Answer, takes string, t *topology.Tree) answer.Answer {
	a.Verdict = answer.Unknown
	if a.Sentence = takes + "; the least with slower links is not known."; s.Time == 0 {
		var names []string
		for _, x := range s.Uses {
			names = append(names, t.LinkName(x.Link))
		}
		a.Sentence = fmt.Sprintf("%s if %s were not slower; how long it takes with slower links is not known.", takes, show.Few(names))
		a.Next = []string{(&Plan{Tree: t}).command("--schedule", schedules.FORS)}
	}
	return a
}

// Describe prints what is done with each slow link.
func (s *Slower) Describe(w io.Writer, t *topology.Tree) {
	for _, x := range s.Avoids {
		fmt.Fprintf(w, "%s (%s of the usual rate) counts as dead: with all slow links in use the plan takes %.6g %s\n", t.LinkName(x.Link), percent(x.Share), s.Other, s.unit)
	}
	for _, x := range s.Uses {
		if s.Time == 0 {
			fmt.Fprintf(w, "%s (%s of the usual rate) is planned as a whole link: this schedule chooses no paths\n", t.LinkName(x.Link), percent(x.Share))
			continue
		}
		fmt.Fprintf(w, "%s (%s of the usual rate) is in use: a message over it takes %.3g times as long; %.6g %s in all\n", t.LinkName(x.Link), percent(x.Share), 1/x.Share, s.Time, s.unit)
	}
}

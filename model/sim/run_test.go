package sim

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"evbench/plan"
	"evbench/results"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// A book is a sink that keeps what it is given, and the order of it.
type book struct {
	order   []string
	run     results.Run
	plans   []string
	refuse  string
	written int // summaries
}

var errFull = errors.New("no space left")

func (b *book) note(what string) error {
	if len(b.order) == 0 || b.order[len(b.order)-1] != what {
		b.order = append(b.order, what)
	}
	if what == b.refuse {
		return errFull
	}
	return nil
}

func (b *book) Write(r results.Record) error {
	switch x := r.(type) {
	case results.Manifest:
		b.run.Manifest = x
		return b.note("manifest")
	case results.Sample:
		b.run.Samples = append(b.run.Samples, x)
		return b.note("samples of " + x.Case)
	case results.LinkCount:
		b.run.Links = append(b.run.Links, x)
		return b.note("links of " + x.Case)
	case results.Summary:
		b.run.Summary = x
		b.written++
		return b.note("summary")
	case results.PlanText:
		b.plans = append(b.plans, x.Case+": "+strings.SplitN(string(x.Text), "\n", 2)[0])
	}
	return nil
}

func (b *book) Keeps() results.Keeps { return results.Keeps{Plans: true} }

func cases(t *testing.T) []*Case {
	whole := topology.Options{Ports: 4, Leaves: 4}
	var out []*Case
	for name, p := range map[string]*plan.Plan{
		"a": planned(t, topologytest.Tree(t, whole), "linear-shift", "ftree"),
		"b": planned(t, topologytest.Tree(t, whole, "leaf0-spine0"), "linear-shift", "minhop"),
		"c": planned(t, topologytest.Tree(t, whole, "leaf0-spine0"), "fors", "pinned"),
	} {
		c := &Case{Job: *job(p), Model: PhaseModel, File: p}
		c.Name, c.Duration, c.Interval = name, time.Minute, 10*time.Second
		c.Case.PredictedEfficiency = p.Cost(plan.Equal, 1).Synchronised()
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b *Case) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func options() Options {
	now := time.Date(2024, 4, 1, 0, 0, 0, 0, time.UTC)
	return Options{Now: func() time.Time { now = now.Add(time.Second); return now }, Manifest: results.Manifest{Name: "three"}}
}

// TestRunsAlike: whatever the number of workers, a run writes the same in the same order.
//
//gate:race
func TestRunsAlike(t *testing.T) {
	var first *book
	for _, workers := range []int{1, 2, 4} {
		b, o := &book{}, options()
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(workers))
		steps := map[string]int{}
		o.Progress = func(s Step) {
			if s.Result != nil {
				steps[s.Case.Name]++
			}
		}
		sum, err := Run(context.Background(), cases(t), b, o)
		expect.MustTrue(t, err == nil && sum.Complete && len(sum.Cases) == 3 && reflect.DeepEqual(sum, b.run.Summary), "%v; %+v", err, sum)
		expect.Equal(t, steps, map[string]int{"a": 1, "b": 1, "c": 1}, "cases told of as done")
		if first == nil {
			first = b
		}
		expect.True(t, reflect.DeepEqual(b, first), "%d workers: the results differ from those of one", workers)
	}
	want := []string{"manifest", "samples of a", "links of a", "samples of b", "links of b", "samples of c", "links of c", "summary", "manifest"}
	expect.Equal(t, first.order, want, "order")
	expect.Equal(t, first.plans, []string{"a: # evbench plan 4", "b: # evbench plan 4", "c: # evbench plan 4"}, "plans")
	m := first.run.Manifest
	expect.True(t, m.Complete && m.Ended.Sub(m.Started) == time.Second, "manifest %+v", m)
}

// TestResults: a case says that it is simulated, is valid without a word, and its
// links carry what is planned for them.
//
//gate:race
func TestResults(t *testing.T) {
	b := &book{}
	sum := expect.Value(Run(context.Background(), cases(t), b, options()))(t)
	for _, c := range sum.Cases {
		expect.True(t, c.Simulated == PhaseModel && !c.Model && c.Valid && len(c.Reasons)+len(c.Warnings) <= 0 && c.Complete, "%+v", c)
		near(t, c.Name+": efficiency", c.MeasuredEfficiency, c.PredictedEfficiency)
		near(t, c.Name+": events/s", c.EventsPerSec.Min, float64(c.Exchanges)/c.MeasuredSec)
		near(t, c.Name+": goodput", c.GoodputBitPerSec.Max, 15*60*8*c.EventsPerSec.Max)
		expect.True(t, c.EventsBuilt == 16*c.Exchanges, "%s: %d events of %d exchanges", c.Name, c.EventsBuilt, c.Exchanges)
	}
	for _, l := range b.run.Links {
		expect.True(t, l.Planned && l.Bytes == l.PlannedBytes, "%+v", l)
	}
	n := b.run.Samples[0]
	expect.False(t, n.EventBytes != 0 && n.EventBytes != 16*60, "%+v", n)
}

// TestRunFails: the cases before the one that fails are written, and the summary is
// marked.
func TestRunFails(t *testing.T) {
	all := cases(t)
	all[1].Mode = "free-running"
	b, o := &book{}, options()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // cases are begun one after the other
	sum, err := Run(context.Background(), all, b, o)
	expect.Error(t, err, `case "b": the phase model`)
	expect.True(t, !sum.Complete && len(sum.Cases) == 1 && b.written == 1 && !b.run.Manifest.Complete, "%+v", sum)

	all = cases(t)
	all[2].Model = "none"
	expect.Error(t, expect.Err(Run(context.Background(), all, &book{}, options())), `no model "none"`)

	expect.Is(t, expect.Err(Run(context.Background(), cases(t), &book{refuse: "samples of b"}, options())), errFull)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if sum, err := Run(ctx, cases(t), &book{}, options()); !errors.Is(err, context.Canceled) || sum.Complete {
		t.Errorf("cancelled: %v, %+v", err, sum)
	}
}

// TestMemory: what is kept grows with the samples, and what is worked on with the
// workers.
func TestMemory(t *testing.T) {
	all := cases(t)
	one := memory(all, 1)
	all[0].Interval /= 10
	more := memory(all, 1)
	expect.True(t, more == one+54*16*sampleBytes, "%d bytes more, want %d", more-one, 54*16*sampleBytes)
	all[0].Model, all[1].Model = FluidModel, FluidModel
	a, b := memory(all, 1), memory(all, 2)
	expect.True(t, b-a == 16*15*flowBytes, "a second worker takes %d bytes, want %d", b-a, 16*15*flowBytes)
}

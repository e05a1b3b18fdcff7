package bench_test

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evbench/barrier"
	"evbench/bench"
	"evbench/builder/modes"
	"evbench/fabric"
	"evbench/model/ordered"
	"evbench/plan"
	"evbench/results"
	"evbench/scenario"
	"evbench/site/engines"
	"evbench/testing/expect"
	"evbench/testing/transporttest"
)

// What servers received of each other makes their goodput, in every mode and repeat,
// and so do the rates of free-running pairs, which nobody clocks.
//
//gate:race
func TestRunCountsPairs(t *testing.T) {
	sink := &memory{keeps: results.Keeps{Pairs: true}}
	sum := expect.Value(run(t, small, &inProcess{}, sink))(t)
	type key struct {
		name   string
		repeat int
	}
	counted, lines, rate := map[key]float64{}, map[key]int{}, map[key]float64{}
	for _, p := range sink.pairs {
		k := key{p.Case, p.Repeat}
		counted[k] += float64(p.Bytes)
		lines[k]++
		rate[k] += float64(p.Bytes) * 8 / p.Sec
		expect.True(t, p.Src != p.Dst && p.Bytes != 0 && p.Sec > 0, "pair %+v", p)
	}
	for _, c := range sum.Measured() {
		k := key{c.Name, c.Repeat}
		all := 4 * c.GoodputBitPerSec.Mean
		got := counted[k] * 8 / c.MeasuredSec
		expect.True(t, lines[k] == 4*3 && math.Abs(got-all) <= 1e-6*all, "%v: %d pairs with %v bit/s in all, servers have %v", k, lines[k], got, all)
		if c.Mode == modes.FreeRunning && math.Abs(rate[k]-all) > 1e-6*all {
			t.Errorf("%v: %v bit/s over pairs, %v over servers", k, rate[k], all)
		}
	}
}

func into(s results.Sink) func() (results.Sink, error) {
	return func() (results.Sink, error) { return s, nil }
}

const small = `
topology: FT(2;2,2)
fabric: {kind: hosts}
event: {fragment: 4KiB}
duration: 150ms
interval: 50ms
rounds: 2
cases:
  - {name: healthy, schedule: linear-shift}
  - {mode: unsynchronised, failures: [leaf0-spine0]}
  - {schedule: fors, mode: free-running, failures: [leaf1-spine1]}
`

// An unpredicted case is ordered, and predicted as if nothing waited: simulating it takes longer than running it here.
type unpredicted struct{ ordered.Orderer }

func (unpredicted) Efficiency(*scenario.Scenario, scenario.Case, *plan.Plan) (float64, error) {
	return 1, nil
}

func read(t testing.TB, text string) (*scenario.Scenario, []bench.Planned) {
	t.Helper()
	s := expect.Value(scenario.Files{Engines: engines.Trees()}.Read("small.yaml", strings.NewReader(text)))(t)
	planned := expect.Value(bench.Parts{Ordered: unpredicted{}}.Prepare(s))(t)
	return s, planned
}

// run runs a scenario in virtual time. When all is written all workers are still there: a launcher one of
// whose ranks fails as it ends kills the controller.
func run(t *testing.T, text string, f virtual, sink results.Sink) (sum results.Summary, err error) {
	t.Helper()
	s, planned := read(t, text)
	synctest.Test(t, func(t *testing.T) {
		ended := func(run results.Run) error {
			time.Sleep(time.Minute)
			expect.True(t, f.gone() == 0 || !run.Summary.Complete, "%d workers have ended", f.gone())
			return nil
		}
		sum, err = bench.Run(t.Context(), bench.Work{Scenario: s, Cases: planned, Fabric: f, Open: into(sink), Ended: ended}, bench.Options{Listener: f.listen(), Token: "secret"})
	})
	return sum, err
}

// startless is a fabric whose last worker fails before it joins; the others wait.
type startless struct{ *inProcess }

var errNoInterface = errors.New("node003: no interface ib0")

func (f startless) Launch(ctx context.Context, j fabric.Job) (func() error, error) {
	j.Failed()
	return func() error { <-ctx.Done(); return errNoInterface }, nil
}

// A worker that fails at its start ends the wait for the others at once, and is named.
//
//gate:race
func TestRunWorkerFails(t *testing.T) {
	s, planned := read(t, small)
	synctest.Test(t, func(t *testing.T) {
		began, f := time.Now(), startless{&inProcess{}}
		_, err := bench.Run(t.Context(), bench.Work{Scenario: s, Cases: planned, Fabric: f, Open: into(&memory{})}, bench.Options{Listener: f.listen(), Token: "secret"})
		expect.False(t, !errors.Is(err, errNoInterface) || strings.Contains(err.Error(), "missing") || time.Since(began) > 0, "after %s: %v", time.Since(began), err)
	})
}

// What a caller has left out is named before anything is launched.
func TestRunWithoutAField(t *testing.T) {
	s, planned := read(t, small)
	whole := bench.Work{Scenario: s, Cases: planned, Fabric: &inProcess{}, Open: into(&memory{})}
	for field, without := range map[string]func(*bench.Work){
		"Scenario": func(w *bench.Work) { w.Scenario = nil }, "Cases": func(w *bench.Work) { w.Cases = nil },
		"Fabric": func(w *bench.Work) { w.Fabric = nil }, "Open": func(w *bench.Work) { w.Open = nil },
	} {
		w := whole
		without(&w)
		_, err := bench.Run(t.Context(), w, bench.Options{})
		expect.True(t, err != nil && strings.Contains(err.Error(), "bench.Work: "+field+" "), "%s: %v", field, err)
	}
}

// Workers may take longer to start than the wait for one of them.
func TestRunStartsSlowly(t *testing.T) {
	expect.OK(t, expect.Err(run(t, small, &inProcess{apart: 25 * time.Second}, &memory{})))
}

// Connections that do not open, where those of an earlier slice did and every server lives, are
// opened again. A run whose network never carried anything ends at once.
//
//gate:race
func TestRunOpensAgain(t *testing.T) {
	for _, tt := range []struct {
		name string
		deaf []uint32
		want string // of the error, "": none
	}{
		{"third slice", []uint32{3}, ""},
		{"first slice", []uint32{1}, "set-up"},
		{"for ever", []uint32{3, 4, 5, 6}, "set-up"},
	} {
		sum, err := run(t, small, &inProcess{deaf: tt.deaf}, &memory{})
		if tt.want != "" {
			expect.True(t, err != nil && strings.Contains(err.Error(), tt.want) && strings.Contains(err.Error(), "server"), "%s: %v", tt.name, err)
			continue
		}
		expect.Must(t, err)
		again := 0
		for _, c := range sum.Cases {
			expect.True(t, c.Valid && c.Complete && c.Rounds == 2, "%s: %s: %+v", tt.name, c.Name, c)
			for _, w := range c.Warnings {
				if strings.Contains(w, "opened again") {
					again++
				}
			}
		}
		expect.True(t, again == 1, "%s: %d warnings, want 1", tt.name, again)
	}
}

// Where the number of rounds is open, the cases of the answer come first, until they are settled;
// the others follow. The control is in every round.
func TestRunAnswerFirst(t *testing.T) {
	text := strings.Replace(small, "rounds: 2", "rounds: auto\nanswer: {cases: [dead]}", 1)
	text = strings.Replace(text, "{mode: unsynchronised,", "{name: beside, mode: unsynchronised,", 1)
	sum := expect.Value(run(t, strings.Replace(text, "{schedule: fors,", "{name: dead, schedule: fors,", 1), &inProcess{}, &memory{}))(t)
	rounds := map[string][]int{}
	for _, s := range sum.Slices {
		rounds[s.Case] = append(rounds[s.Case], s.Round)
	}
	for name, want := range map[string][]int{
		"healthy": {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, "dead": {0, 1, 2, 3, 4, 5}, "beside": {0, 6, 7, 8, 9, 10},
	} {
		expect.Equal(t, rounds[name], want, "rounds of %s", name)
	}
}

// A run measures a slice of each case in each round, the case that is the control among
// them; predictions are written first, every event is built once, samples add up.
func TestRun(t *testing.T) {
	f, sink := &inProcess{}, &memory{}
	sum := expect.Value(run(t, small, f, sink))(t)
	var names []string
	for _, c := range sum.Cases {
		names = append(names, c.Name)
		expect.True(t, c.Valid && c.Complete && c.EventsBuilt != 0 && c.EventsLost == 0 && c.EventsDuplicate == 0, "%s: %+v", c.Name, c)
		expect.True(t, c.MeasuredEfficiency == 0 && c.RatioToControl != 0,
			"%s: efficiency %v without a link rate, ratio %v", c.Name, c.MeasuredEfficiency, c.RatioToControl)
	}
	expect.True(t, len(names) == 3 && sum.Cases[0].Control && !sum.Cases[1].Control && sum.Rounds == 2, "cases %q, rounds %d", names, sum.Rounds)
	seen := map[string][]int{} // rounds by case
	for _, s := range sum.Slices {
		expect.True(t, s.Repeat == len(seen[s.Case]), "slice %+v is number %d of its case", s, len(seen[s.Case]))
		seen[s.Case] = append(seen[s.Case], s.Round)
	}
	for _, name := range names {
		expect.Equal(t, seen[name], []int{0, 1}, "rounds of slices of %s", name)
	}
	took := map[string]float64{}
	for _, x := range sink.exchanges {
		took[x.Case] += x.DurationSec
	}
	for _, c := range sum.Cases {
		expect.True(t, math.Abs(took[c.Name]-c.MeasuredSec) <= 0.02*c.MeasuredSec,
			"%s: exchanges take %v s, measured were %v s", c.Name, took[c.Name], c.MeasuredSec)
	}
	expect.True(t, len(sink.manifests) == 2 && len(sink.manifests[0].Predictions) == 3 && sink.manifests[1].Complete,
		"%d manifests", len(sink.manifests))
	expect.True(t, !sink.manifests[0].Predictions[0].Made.IsZero() && !sink.manifests[0].Ended.After(sink.manifests[0].Started),
		"the predictions were not written before the run")
	expect.True(t, len(f.installed) == 6 && sum.Complete && len(sink.samples) != 0,
		"%d plans installed, complete %v, %d samples", len(f.installed), sum.Complete, len(sink.samples))
}

// TestRunFindsBarrier: barrier: auto takes the barrier whose phases are shortest, once for all cases that ask, and the manifest says
// which were tried, with their times.
//
//gate:race
func TestRunFindsBarrier(t *testing.T) {
	f, sink := &inProcess{quick: barrier.Dissemination}, &memory{}
	sum := expect.Value(run(t, `
topology: FT(2;2,2)
fabric: {kind: hosts}
event: {fragment: 1kB}
duration: 100ms
rounds: 1
control: off
cases:
  - {name: a, barrier: auto}
  - {name: b, barrier: auto, failures: [leaf0-spine0]}
  - {name: c, barrier: central}
  - {name: d}
`, f, sink))(t)
	var taken, got []string
	tried := map[string]float64{}
	for _, b := range sink.manifests[0].Barriers {
		if tried[b.Barrier] = b.PhaseSec; b.Taken {
			taken = append(taken, b.Barrier)
		}
	}
	expect.Equal(t, taken, []string{barrier.Dissemination}, "barriers taken")
	expect.Equal(t, slices.Sorted(maps.Keys(tried)), slices.Sorted(slices.Values(barrier.Forms())), "barriers tried")
	for kind, took := range tried {
		// Each phase takes linkTime, and a late signal is 1 ms at least.
		expect.True(t, took >= 0.0009 && (kind == barrier.Dissemination) == (took < 0.002), "%s: a phase of %v s", kind, took)
	}
	for _, c := range sum.Cases {
		expect.True(t, c.Valid && c.EventsLost == 0, "%s: %+v", c.Name, c)
		got = append(got, c.Barrier)
	}
	expect.Equal(t, got, []string{barrier.Dissemination, barrier.Dissemination, barrier.Central, barrier.Tournament}, "barriers of the cases")
	expect.Equal(t, len(f.installed), 5, "plans installed: one for the tries")

	none := &memory{}
	expect.Value(run(t, small, &inProcess{}, none))(t)
	expect.Equal(t, len(none.manifests[0].Barriers), 0, "barriers tried where no case asks")
}

// Ordered cases of windows of each length, fragments of any size and with a dead link build
// every event once, and their tokens are counted.
//
//gate:race
func TestRunOrdered(t *testing.T) {
	sum := expect.Value(run(t, `
topology: FT(2;2,3)
fabric: {kind: hosts}
event: {fragment: 4KiB, sizes: {spread: 0.5}}
duration: 100ms
interval: 50ms
rounds: 1
matrix: {window: [1, 2, 3, 4], failures: [[], [leaf0-spine1]], schedule: [none, fors]}
cases: [{mode: ordered}]
`, &inProcess{}, &memory{}))(t)
	expect.Equal(t, len(sum.Cases), 17, "cases")
	for _, c := range sum.Cases {
		expect.True(t, c.Complete && c.EventsBuilt != 0 && c.EventsLost+c.EventsDuplicate+c.FragmentsLate <= 0, "%s: %+v", c.Name, c)
		ordered := c.Mode == modes.Ordered
		expect.False(t, ordered != (c.TokensPerFragment > 0) || c.TokensPerFragment > 3 || ordered && c.Phases > 0,
			"%s: %v tokens to a fragment, %d phases", c.Name, c.TokensPerFragment, c.Phases)
	}
}

// A shift by port leaves servers without a partner in most phases where leaves are not
// full: it runs with each barrier and without phases, and is its own control.
func TestRunByPort(t *testing.T) {
	sum := expect.Value(run(t, `
topology: FT(2;3,3)
fill: [3, 2, 3]
fabric: {kind: hosts}
event: {fragment: 4KiB}
duration: 150ms
interval: 50ms
rounds: 2
cases:
  - {name: tournament, schedule: linear-shift-ports}
  - {name: central, schedule: linear-shift-ports, barrier: central}
  - {name: dissemination, schedule: linear-shift-ports, barrier: dissemination}
  - {name: repaired, schedule: "repair:linear-shift-ports", failures: [leaf0-spine0]}
  - {name: free, mode: free-running, schedule: linear-shift-ports}
`, &inProcess{}, &memory{}))(t)
	expect.MustTrue(t, len(sum.Cases) == 5 && sum.Cases[0].Control, "%d cases, the first is the control: %v", len(sum.Cases), sum.Cases[0].Control)
	for i, c := range sum.Cases {
		expect.True(t, c.Valid && c.Complete && c.EventsBuilt != 0 && c.EventsLost+c.EventsDuplicate == 0 && c.Control == (i == 0),
			"%s: %+v", c.Name, c)
	}
}

// With a link rate there are efficiencies; memory is faster than any link, and
// the verdict says that something is odd.
//
//gate:race
func TestRunWithRate(t *testing.T) {
	text := strings.Replace(small, "{kind: hosts}", "{kind: lab, rate: 1Gbit/s}", 1)
	sum := expect.Value(run(t, text, &inProcess{info: results.Fabric{Kind: "lab", RateBitPerSec: 1e9, Factor: 1}}, &memory{}))(t)
	for _, c := range sum.Cases {
		expect.True(t, c.MeasuredEfficiency > 0 && c.PredictedEfficiency > 0,
			"%s: measured %v, predicted %v", c.Name, c.MeasuredEfficiency, c.PredictedEfficiency)
	}
}

// A fragment that is damaged on the way is found, and the run says so.
//
//gate:race
func TestRunFindsDamage(t *testing.T) {
	var once sync.Once
	f := &inProcess{fault: func(m *transporttest.Message) transporttest.Action {
		if len(m.Body) > 0 && m.Src == 1 {
			once.Do(func() { m.Body[7] ^= 1 })
		}
		return transporttest.Deliver
	}}
	text := strings.Replace(small, "duration:", "check: payload\ntimeout: 2s\nduration:", 1)
	sum, err := run(t, text, f, &memory{})
	invalid := slices.ContainsFunc(sum.Cases, func(c results.Case) bool {
		return !c.Valid && slices.ContainsFunc(c.Reasons, func(r string) bool { return strings.Contains(r, "corrupt") })
	})
	expect.True(t, invalid, "no case is invalid for a corrupt fragment: error %v, %+v", err, sum.Cases)
}

//gate:race
func TestRunEndsEarly(t *testing.T) {
	t.Run("interrupted", func(t *testing.T) { synctest.Test(t, interrupted) })
	t.Run("routes refused", func(t *testing.T) {
		why := errors.New("routes read back differ")
		expect.Is(t, expect.Err(run(t, small, &inProcess{refuse: why}, &memory{})), why)
	})
	t.Run("disk full", func(t *testing.T) {
		full := errors.New("no space left on device")
		sink := &memory{full: full}
		_, err := run(t, strings.Replace(small, "150ms", "1h", 1), &inProcess{}, sink)
		expect.True(t, errors.Is(err, full) && strings.Count(err.Error(), full.Error()) == 1, "%v", err)
		expect.True(t, len(sink.samples) <= 100, "%d samples were taken of a run that cannot keep any", len(sink.samples))
	})
}

// interrupted ends a run once there are samples. All is written while all workers are still there:
// a launcher kills the controller when one has ended.
func interrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupt")
	sink := &memory{}
	s, planned := read(t, strings.Replace(small, "150ms", "1h", 1))
	f := &inProcess{}
	gone := -1
	ended := func(run results.Run) error {
		time.Sleep(time.Minute)
		gone = f.gone()
		expect.Equal(t, run.Summary.Complete, sink.summary.Complete, "complete")
		return nil
	}
	sum, err := bench.Run(ctx, bench.Work{Scenario: s, Cases: planned, Fabric: f, Open: into(sink), Ended: ended}, bench.Options{
		Listener: f.listen(), Token: "secret",
		Progress: func(p bench.Progress) {
			if e, ok := p.Event.(bench.Measuring); ok && e.Elapsed > 0 {
				cancel(why)
			}
		},
	})
	expect.True(t, errors.Is(err, why), "error = %v, want the cause", err)
	expect.Equal(t, gone, 0, "workers that had ended when all was written")
	expect.Equal(t, f.gone(), s.Tree.Servers(), "workers that ended")
	expect.True(t, !sum.Complete && len(sum.Cases) == 1 && !sum.Cases[0].Complete && !sum.Cases[0].Valid && !sink.summary.Complete,
		"summary %+v", sum)
	expect.True(t, sum.Cases[0].EventsBuilt != 0 && len(sink.samples) != 0, "what was measured is gone")
}

// Events tell a run from its begin to its end, one at a time, with the rate of one server
// and with what the run has come to so far.
//
//gate:race
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, planned := read(t, small)
		f := &inProcess{}
		var stages []string
		var last bench.Progress
		var rounds []bench.RoundDone
		rate := map[string]float64{}
		sum := expect.Value(bench.Run(t.Context(), bench.Work{Scenario: s, Cases: planned, Fabric: f, Open: into(&memory{})}, bench.Options{Listener: f.listen(), Token: "secret", Progress: func(p bench.Progress) {
			if len(stages) == 0 || stages[len(stages)-1] != p.Stage() {
				stages = append(stages, p.Stage())
			}
			expect.False(t, p.At.IsZero() || p.At.Before(last.At), "%s at %v, after %v", p.Stage(), p.At, last.At)
			switch e := p.Event.(type) {
			case bench.Begun:
				expect.True(t, len(e.Manifest.Plans) == len(planned) && len(e.Cases) == len(planned),
					"begun with %d plans in the manifest and %d cases", len(e.Manifest.Plans), len(e.Cases))
			case bench.Measuring:
				rate[p.Case] = e.EventsPerSec
			case bench.Done:
				most := 1.5 * e.Slice.EventsPerSec.Max
				expect.True(t, rate[p.Case] <= most, "%s: %v events/s, at most %v fit a server", p.Case, rate[p.Case], most)
				n := len(e.Summary.Slices)
				expect.True(t, n != 0 && e.Summary.Slices[n-1].Case == p.Case, "%s is not the last of %d slices", p.Case, n)
			case bench.RoundDone:
				rounds = append(rounds, e)
			}
			last = p
		}}))(t)
		slice := []string{"install", "warm up", "measure", "done"}
		want := []string{"begun"}
		for range s.Rounds.Count {
			for range planned {
				want = append(want, slice...)
			}
			want = append(want, "round done")
		}
		if want = append(want, "ended"); !slices.Equal(stages, want) {
			t.Errorf("stages %q, want %q", stages, want)
		}
		if e, ok := last.Event.(bench.Ended); !ok || len(e.Summary.Cases) != len(sum.Cases) || !e.Summary.Complete {
			t.Errorf("the last event has %+v", last.Event)
		}
		for i, e := range rounds { // what was told is not changed by what comes later
			expect.Equal(t, e.Summary.Rounds, i+1, "rounds told")
		}
	})
}

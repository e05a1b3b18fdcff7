package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/controller"
	"evbench/controller/wire"
	"evbench/fabric"
	"evbench/failover"
	"evbench/plan"
	"evbench/results"
	"evbench/scenario"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// Servers have processors of their own where each machine has as many as servers, and says so.
func TestOwnProcessors(t *testing.T) {
	for _, tt := range []struct {
		name  string
		hosts []results.Host
		want  bool
	}{
		{"a machine each", []results.Host{{Host: "a", Cores: 1}, {Host: "b", Cores: 8}}, true},
		{"one machine", []results.Host{{Host: "a", Cores: 2}, {Host: "a", Cores: 2}}, true},
		{"one too many", []results.Host{{Host: "a", Cores: 2}, {Host: "b", Cores: 2}, {Host: "a", Cores: 2}, {Host: "a", Cores: 2}}, false},
		{"one does not say", []results.Host{{Host: "a", Cores: 2}, {Host: "b"}}, false},
	} {
		expect.Equal(t, ownProcessors(tt.hosts), tt.want, "%s", tt.name)
	}
}

// The first barrier that is as fast as the fastest, but for noise, is taken.
func TestFastest(t *testing.T) {
	for _, tt := range []struct {
		times []float64
		want  int
	}{{[]float64{3}, 0}, {[]float64{2, 2, 2}, 0}, {[]float64{1.04, 1, 2}, 0}, {[]float64{1.06, 1.04, 1}, 1}, {[]float64{3, 2, 1}, 2}, {[]float64{0, 0}, 0}} {
		var tried []results.TriedBarrier
		for _, s := range tt.times {
			tried = append(tried, results.TriedBarrier{PhaseSec: s})
		}
		expect.True(t, fastest(tried) == &tried[tt.want], "of %v, not number %d", tt.times, tt.want)
	}
}

// A sinkOfPairs takes pairs, or takes none.
type sinkOfPairs struct {
	results.Sink
	takes bool
}

func (s sinkOfPairs) Keeps() results.Keeps { return results.Keeps{Pairs: s.takes} }

// Pairs are counted for those who take them, unless they are too many.
func TestCountsPairs(t *testing.T) {
	for _, tt := range []struct {
		notation string
		rounds   int
		sink     results.Sink
		taken    bool
		warnings int
	}{
		{"FT(2;16,32)", 1, sinkOfPairs{takes: true}, true, 0},
		{"FT(2;16,32)", 1, sinkOfPairs{}, false, 0},
		{"FT(2;27,19)", 1, sinkOfPairs{takes: true}, false, 1},
		{"FT(2;8,16)", 0, sinkOfPairs{takes: true}, true, 0},
		{"FT(2;16,32)", 0, sinkOfPairs{takes: true}, false, 1},
	} {
		s := expect.Value(scenario.Read("x.yaml", strings.NewReader("topology: "+tt.notation+"\ncases: [{schedule: linear-shift}]\n")))(t)
		r := &runner{plan: rounds{Rounds: scenario.Rounds{Count: tt.rounds}}, s: s, sink: tt.sink}
		got := r.countsPairs()
		expect.True(t, got == tt.taken && len(r.manifest.Warnings) == tt.warnings, "%s: taken %v, warnings %q", tt.notation, got, r.manifest.Warnings)
	}
}

// Who has not reported has no lines; what did not come has no rate; what nobody clocked took the whole span.
func TestPairCounts(t *testing.T) {
	clocked := []wire.Source{{}, {Bytes: 7, Took: time.Second}, {Resent: 3}}
	not := []wire.Source{{Bytes: 5}, {Bytes: 6}, {}}
	others := topologytest.Tree(t, topology.Options{Ports: 3, Leaves: 1}).Pairs
	got := pairCounts(controller.Outcome{Span: time.Minute, Servers: []controller.Server{
		{Server: 10, Totals: wire.Totals{Sources: clocked}}, {Server: 11}, {Server: 12, Totals: wire.Totals{Sources: not}},
	}}, others)
	want := []results.PairCount{
		{Src: 10, Dst: 12, Bytes: 5, Sec: 60, Resent: 3}, {Src: 11, Dst: 10, Bytes: 7, Sec: 1}, {Src: 11, Dst: 12, Bytes: 6, Sec: 60}, {Src: 12, Dst: 10},
	}
	expect.Equal(t, got, want, "got")
	none := pairCounts(controller.Outcome{}, others) // the case could not begin
	expect.True(t, none == nil, "%v", none)
}

func TestSteps(t *testing.T) {
	link := []topology.Link{{Leaf: 0, Spine: 3}}
	second := time.Second
	type want struct {
		at           time.Duration
		change, open bool
	}
	for _, tt := range []struct {
		name  string
		timed []scenario.Timed
		want  []want
	}{
		{"none", nil, nil},
		{"down and up", []scenario.Timed{{Links: link, At: 3 * second, For: 4 * second}}, []want{
			{2 * second, false, true}, {3 * second, true, false}, {4 * second, false, false},
			{6 * second, false, true}, {7 * second, true, false}, {8 * second, false, false}}},
		{"short: one window", []scenario.Timed{{Links: link, At: 3 * second, For: second}}, []want{
			{2 * second, false, true}, {3 * second, true, false}, {4 * second, true, false}, {5 * second, false, false}}},
		{"until the end", []scenario.Timed{{Links: link, At: 500 * time.Millisecond}}, []want{
			{0, false, true}, {500 * time.Millisecond, true, false}, {1500 * time.Millisecond, false, false}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []want
			for _, s := range steps(tt.timed, 10*second) {
				got = append(got, want{s.at, s.change, s.open})
			}
			expect.MustTrue(t, len(got) == len(tt.want), "got %v, want %v", got, tt.want)
			for i := range got {
				expect.Equal(t, got[i], tt.want[i], "step %d", i)
			}
		})
	}
}

// Where nothing is done about a dead link, all that is lost until it is back is its doing.
func TestStepsWithoutFailover(t *testing.T) {
	second := time.Second
	c := scenario.Case{Setting: builder.Setting{Duration: 20 * second}, Failover: &scenario.Failover{Policy: "none"}}
	for _, tt := range []struct {
		timed []scenario.Timed
		want  string
	}{
		{[]scenario.Timed{{At: 3 * second, For: 4 * second}}, "2s 3s 7s 8s"},
		{[]scenario.Timed{{At: 3 * second, For: 4 * second}, {At: 15 * second}}, "2s 3s 7s 15s 21s"},
	} {
		c.Timed = tt.timed
		var got []string
		for _, s := range stepsOf(c) {
			got = append(got, s.at.String())
		}
		expect.Equal(t, strings.Join(got, " "), tt.want, "%v", tt.timed)
	}
}

// stage is a fabric on which only links and counters matter. It drops three packets when a link goes down.
type stage struct {
	fabric.Fabric
	lost uint64
	set  []time.Duration
	t0   time.Time
}

func (s *stage) Counters(context.Context) ([]results.LinkCount, error) {
	return []results.LinkCount{{Drops: s.lost}}, nil
}

func (s *stage) SetLinks(_ context.Context, _ []topology.Link, up bool) error {
	s.set = append(s.set, time.Since(s.t0))
	if !up {
		s.lost += 3
	}
	return nil
}

// Links come before servers, and cables that others have taken down before all.
func TestBlame(t *testing.T) {
	broke := controller.CaseError{Case: "x", During: "measurement", Reasons: []string{"server 3: closed", "server 4: closed"}}
	stuck := broke
	stuck.Stuck = true
	for _, tt := range []struct {
		cut, waits string
		err        controller.CaseError
		want       string
	}{
		{"", "", stuck, `case "x": measurement: server 3: closed; server 4: closed`},
		{"", "w", stuck, `case "x": measurement: w`},
		{"c", "", stuck, `case "x": measurement: c`},
		{"c", "w", stuck, `case "x": measurement: c; w`},
		{"", "w", broke, `case "x": measurement: server 3: closed; server 4: closed (w)`},
		{"c", "w", broke, `case "x": measurement: c; w; server 3: closed; server 4: closed`},
	} {
		line := &timeline{cut: tt.cut, waits: tt.waits}
		expect.Equal(t, line.blame(&tt.err).Error(), tt.want, "blame")
	}
}

// A run that fails says which case and why; one that was told to end says that.
func TestStopped(t *testing.T) {
	told, cancel := context.WithCancel(t.Context())
	cancel()
	broke := fmt.Errorf("round 1: %w", &controller.CaseError{Case: "x", Reasons: []string{"server 3: closed", "server 4: closed"}})
	for _, tt := range []struct {
		ctx   context.Context
		err   error
		count int
		want  string
	}{
		{t.Context(), broke, 0, "case “x” failed after 1.5 s: server 3: closed"},
		{t.Context(), errors.New("no space\nleft"), 0, "the run failed after 1.5 s: no space"},
		{told, broke, 0, "interrupted after 1.5 s (--limit 1m40s)"},
		{told, context.Canceled, 3, "interrupted after 1.5 of 6 s"},
	} {
		r := &runner{plan: rounds{Rounds: scenario.Rounds{Count: tt.count, Limit: 100 * time.Second}}, cases: make([]Planned, 1)}
		r.cases[0].Duration = 2 * time.Second
		r.done = []*measured{{outcome: controller.Outcome{Span: 1500 * time.Millisecond}}}
		expect.Equal(t, r.stopped(tt.ctx, tt.err), tt.want, "stopped")
	}
}

func TestTimeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		link := topology.Link{Leaf: 0, Spine: 3}
		f := &stage{t0: time.Now()}
		line := &timeline{fabric: f, tree: &topology.Tree{}, tell: func(Event) {}, start: time.Now()}
		expect.Must(t, line.play(t.Context(), steps([]scenario.Timed{{Links: []topology.Link{link}, Name: "x", At: 3 * time.Second, For: 4 * time.Second}}, 20*time.Second)))
		line.records = []failover.Record{
			{ID: 1, Down: []topology.Link{link}, Dead: []topology.Link{link}, Seen: 3*time.Second + time.Millisecond, Aided: 3*time.Second + 3*time.Millisecond, AidRoutes: 7},
		}
		rows, warnings := line.results(failover.MinHop)
		expect.True(t, len(f.set) == 2 && f.set[0] == 3*time.Second && f.set[1] == 7*time.Second && line.excused == 3,
			"links set at %v, %d drops excused", f.set, line.excused)
		want := results.LinkEvent{Link: "leaf0-spine3", TSec: 3, SeenSec: 0.001, RoutesSec: 0.002, Routes: 7}
		expect.True(t, len(rows) == 2 && rows[0] == want && rows[1].Up && len(warnings) == 1, "rows %+v, warnings %q", rows, warnings)
		other := topology.Link{Leaf: 1, Spine: 1}
		line.records = []failover.Record{
			{ID: 1, Down: []topology.Link{link}, Dead: []topology.Link{link}, Seen: 3*time.Second + time.Millisecond, Superseded: true},
			{ID: 2, Down: []topology.Link{other}, Dead: []topology.Link{link, other}, Seen: 3*time.Second + 2*time.Millisecond, Aided: 3*time.Second + 4*time.Millisecond},
			{ID: 3, Up: []topology.Link{link}, Dead: []topology.Link{other}, Seen: 7*time.Second + time.Millisecond, Err: "refused"},
		}
		rows, warnings = line.results(failover.FORS)
		expect.True(t, rows[0].SeenSec == 0.001 && rows[0].RoutesSec == 0.003 && len(warnings) == 1 && strings.Contains(warnings[0], "refused"),
			"superseded: rows %+v, warnings %q", rows, warnings)
		if _, warnings := line.results(failover.FORSHold); len(warnings) != 1 {
			t.Errorf("held out: %q", warnings)
		}
	})
}

// slowLinks is a fabric on which a change of a link takes until the end of the case.
type slowLinks struct{ stage }

func (s *slowLinks) SetLinks(ctx context.Context, _ []topology.Link, _ bool) error {
	s.lost++
	<-ctx.Done()
	return fmt.Errorf("leaf0: wait for links: %w", ctx.Err())
}

//gate:race
func TestCaseEndsWhileLinksChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		line := &timeline{fabric: &slowLinks{stage{t0: time.Now()}}, tree: &topology.Tree{}, tell: func(Event) {}, start: time.Now()}
		timed := []scenario.Timed{{Links: []topology.Link{{Spine: 3}}, Name: "x", At: 3 * time.Second, For: 4 * time.Second}}
		expect.OK(t, line.play(ctx, steps(timed, 20*time.Second)))
		rows, warnings := line.results(failover.None)
		const want = "leaf0-spine3: it should have come up after 7s; the case ended before"
		expect.True(t, len(rows) == 1 && slices.Equal(warnings, []string{want}) && line.excused == 1,
			"rows %+v, warnings %q, %d drops excused", rows, warnings, line.excused)
	})
}

func TestCarried(t *testing.T) {
	tree := expect.Value(topology.New(topology.Options{Ports: 1, Leaves: 2}))(t)
	p := expect.Value(plan.Build(tree, plan.Options{Schedule: "linear-shift"}))(t)
	planned := Planned{Case: scenario.Case{Setting: builder.Setting{Name: "x"}}, Plan: p}
	var before, after []results.LinkCount
	for w := range tree.AllWires() {
		link, direction := tree.WireName(topology.Wire(w))
		before = append(before, results.LinkCount{Link: link, Direction: direction, Bytes: 100, Drops: 1})
		after = append(after, results.LinkCount{Link: link, Direction: direction, Bytes: 130, Drops: 3})
	}
	thrice := func(_, _ int) float64 { return 30 }
	got := carried(planned, 2, before, after, plannedBytes(planned, thrice))
	for _, l := range got {
		expect.True(t, l.Case == "x" && l.Repeat == 2 && l.Bytes == 30 && l.Drops == 2 && l.Planned && l.PlannedBytes == 30, "%+v", l)
	}
	expect.Equal(t, drops(got), uint64(2*tree.AllWires()), "drops")
	planned.Timed = []scenario.Timed{{}}
	expect.True(t, plannedBytes(planned, thrice) == nil, "bytes are planned though routes change")
}

// What moves between two servers is known to the byte, unless sizes differ and events are assigned on the way.
func TestBetween(t *testing.T) {
	tree := expect.Value(topology.New(topology.Options{Ports: 2, Leaves: 2}))(t)
	s := &scenario.Scenario{Tree: tree, Common: builder.Common{Warmup: 1, Seed: 3}, Event: scenario.Event{Fragment: 1000}}
	events := []uint64{1, 2, 3, 4}
	expect.Equal(t, between(s, Planned{}, events)(0, 2), 3*(1000+builder.HeaderSize), "equal fragments")
	s.Event.Sizes.Spread = 0.5
	sizes := builder.Sizes{Mean: 1000, Distribution: builder.Distribution{Spread: 0.5}, Seed: 3}
	want := sizes.Of(4+1, 3) + sizes.Of(8+1, 3) + 2*builder.HeaderSize
	if got := between(s, Planned{Case: scenario.Case{Setting: builder.Setting{Mode: modes.Sync}}}, events)(3, 1); got != float64(want) {
		t.Errorf("unequal fragments: %v, want %d", got, want)
	}
	balanced := between(s, Planned{Case: scenario.Case{Setting: builder.Setting{Mode: modes.Unsync, Assign: builder.AssignBalanced}}}, []uint64{8, 8, 8, 8})
	sync := between(s, Planned{Case: scenario.Case{Setting: builder.Setting{Mode: modes.Sync}}}, []uint64{8, 8, 8, 8})
	for src := range 4 { // the same events, by other servers
		got, want := 0.0, 0.0
		for dst := range 4 {
			got, want = got+balanced(src, dst), want+sync(src, dst)
		}
		expect.True(t, got == want, "balanced, %v bytes of rank %d, want %v", got, src, want)
	}
	expect.True(t, between(s, Planned{Case: scenario.Case{Setting: builder.Setting{Mode: modes.Unsync}}}, events) == nil,
		"bytes are planned though nobody knows who builds which event")
}

func TestMeter(t *testing.T) {
	m := meter{interval: time.Second}
	for _, x := range []struct {
		at            float64
		events        uint64
		interval, all float64
		ok            bool
	}{
		{at: 1, events: 3}, {at: 1.01, events: 4},
		{at: 2, events: 0, interval: 3.5, all: 3.5, ok: true}, {at: 2.02, events: 0},
		{at: 3, events: 5, interval: 0, all: 1.75, ok: true},
		{at: 5, events: 5, interval: 5, all: 12. / 5, ok: true},
	} {
		interval, all, ok := m.add(results.Sample{TSec: x.at, IntervalSec: 1, Events: x.events})
		expect.True(t, interval == x.interval && all == x.all && ok == x.ok,
			"at %v: %v, %v, %v; want %v, %v, %v", x.at, interval, all, ok, x.interval, x.all, x.ok)
	}
}

// Nothing that is drawn brings a server more at a time than the time-out allows for.
func TestHeaviest(t *testing.T) {
	for sizes, want := range map[string][2]float64{
		"{spread: 0}": {3000, 3000}, "{spread: 0.5}": {4500, 4500}, "{distribution: exponential, by: event}": {20_000, 48_000}, "{fanout: 1}": {3000, 3000},
	} {
		s := expect.Value(scenario.Read("x.yaml", strings.NewReader("topology: FT(2;2,2)\nevent: {fragment: 1000B, sizes: "+sizes+"}\ncases: [{mode: unsync}]\n")))(t)
		most, of := heaviest(s, s.Cases[0]), s.FragmentSizes(s.Cases[0])
		expect.True(t, most >= want[0] && most <= want[1], "%s: %v bytes, want %v", sizes, most, want)
		for event := range uint64(10_000) {
			sum := of.Of(event, 0) + of.Of(event, 1) + of.Of(event, 2)
			expect.True(t, float64(sum) <= most, "%s: event %d has %d bytes, the most is %v", sizes, event, sum, most)
		}
	}
}

// Of exchanges that are planned together the times of windows count, but for the last, which has not ended.
func TestPerWindow(t *testing.T) {
	sec := []float64{5, 1, 0, 4, 2, 0, 9}
	for window, want := range map[int][]float64{0: sec, 1: sec, 3: {6, 6}, 7: {21}, 8: nil} {
		expect.Equal(t, perWindow(sec, window), want, "windows of %d", window)
	}
}

// A link that flaps 700 times is in two states: what holds in each is worked out once.
func TestOverTime(t *testing.T) {
	s := expect.Value(scenario.Read("x.yaml", strings.NewReader(`
topology: FT(2;4,4)
fabric: {kind: lab, rate: 100Mbit/s}
duration: 1400s
cases:
  - {mode: ordered, failover: fors, failures: [{link: leaf0-spine0, at: 1s, for: 500ms, every: 1s, times: 700}]}
`)))(t)
	worked := 0
	mean, err := overTime(s.Cases[0], s.Tree, func(t *topology.Tree) (float64, error) {
		worked++
		return 1 - float64(len(t.Dead())), nil
	})
	want := 1 - 350./1400
	expect.True(t, err == nil && math.Abs(mean-want) <= 1e-9 && worked == 2, "%v, worked out %d times, %v; want %v, 2", mean, worked, err, want)
}

// noWindows stands for a planner of ordered cases.
type noWindows struct{ Window }

func (w noWindows) First(*scenario.Scenario, scenario.Case, *topology.Tree) (Window, error) {
	return w, nil
}

func (noWindows) Windows(*scenario.Scenario, scenario.Case, *topology.Tree, Window) controller.Windows {
	return nil
}

func (noWindows) Efficiency(*scenario.Scenario, scenario.Case, *plan.Plan) (float64, error) {
	return 1, nil
}

func (noWindows) Hash() string { return "" }

// What workers would refuse, or could not open, is known before a run.
func TestRefusedBeforehand(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		connection int // that a process may have
		want       string
	}{
		{"all is well", "cases: [{mode: ordered}]", 1000, ""},
		{"several events, thrown away and checked", "deliver: discard\ncheck: payload\ncases: [{mode: ordered, window: 2}]", 1000, `case "ordered pinned window 2": check: payload needs deliver: buffer`},
		{"one at a time", "deliver: discard\ncheck: payload\ncases: [{mode: ordered, window: 1}, {schedule: fors}, {mode: unsync, credits: 1}]", 1000, ""},
		{"without phases", "deliver: discard\ncheck: payload\ncases: [{mode: unsync, credits: 2}]", 1000, "check: payload needs deliver: buffer"},
		{"phases that may be given up", "deliver: discard\ncheck: payload\ncases: [{failover: unsync}]", 1000, "check: payload needs deliver: buffer"},
		{"paths of windows", "cases: [{mode: ordered}]", 95, "each window may use every path, and all have to be open: 96 of 95"},
		{"paths of phases", "cases: [{schedule: fors, failover: fors}]", 95, ""},
	} {
		s := expect.Value(scenario.Read("x.yaml", strings.NewReader("topology: FT(2;4,4)\nfabric: {kind: lab, rate: 100Mbit/s}\ncontrol: off\n"+tt.text+"\n")))(t)
		planned, err := Parts{Ordered: noWindows{}}.Prepare(s)
		if err == nil {
			err = MayOpen(planned, func(_, connections int) error {
				if connections > tt.connection {
					return fmt.Errorf("%d of %d", connections, tt.connection)
				}
				return nil
			})
		}
		expect.ErrorIf(t, err, tt.want)
	}
}

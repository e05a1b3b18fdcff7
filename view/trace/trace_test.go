package trace

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"evbench/builder/modes"
	"evbench/plan"
	"evbench/results"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// ring returns the spans of synchronised exchanges by a plan: every fragment takes a
// second, or what slow says, and a barrier a tenth. Server i's clock is i·shift late.
func ring(p *plan.Plan, exchanges int, shift float64, slow func(exchange, phase, src, dst int) float64) []results.Span {
	t := p.Tree
	var out []results.Span
	clock := 0.0
	for e := range exchanges {
		for ph := range p.Phases() {
			end := clock
			for r := range t.Servers() {
				if to := p.Row(r)[ph].To; to >= 0 {
					end = max(end, clock+slow(e, ph, r, to))
				}
			}
			for r := range t.Servers() {
				late := -float64(r) * shift
				s := results.Span{Case: "c", Server: t.Position(r), Exchange: uint64(e), Phase: ph, Peer: -1}
				if x := p.Row(r)[ph]; x.To >= 0 {
					s.What, s.Peer, s.BeginSec, s.EndSec = results.SpanSend, t.Position(x.To), clock+late, clock+slow(e, ph, r, x.To)+late
					out = append(out, s)
				}
				if x := p.Row(r)[ph]; x.From >= 0 {
					s.What, s.Peer, s.BeginSec, s.EndSec = results.SpanReceive, t.Position(x.From), clock+late, clock+slow(e, ph, x.From, r)+late
					out = append(out, s)
				}
				s.What, s.Peer, s.BeginSec, s.EndSec = results.SpanBarrier, -1, end+late, end+0.1+late
				out = append(out, s)
			}
			clock = end + 0.1
		}
	}
	return out
}

func fors(t *testing.T, down ...topology.Link) *plan.Plan {
	t.Helper()
	tree := expect.Value(topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 3}).Without(down...))(t)
	p := expect.Value(plan.Build(tree, plan.Options{Schedule: "fors"}))(t)
	return p
}

// A slow pair, its phase and what it costs are found, though clocks differ.
func TestExplain(t *testing.T) {
	p := fors(t)
	const src, dst = 1, 4
	slowPhase := -1
	spans := ring(p, 3, 0.25, func(_, phase, s, d int) float64 {
		if s == src && d == dst {
			slowPhase = phase
			return 1.5
		}
		return 1
	})
	all := Split(spans)
	expect.MustTrue(t, len(all) == 1 && len(all[0].Servers()) == 6, "%d slices", len(all))
	n := float64(p.Phases())
	took := n*1.1 + 0.5
	c := results.Case{Name: "c", Mode: modes.Sync, Rates: results.Rates{MeasuredEfficiency: n / took, EventsPerSec: results.NewStat([]float64{1 / took})}}
	w := expect.Value(Explain(all, c, 1, p))(t)
	near := func(what string, got, want float64) {
		t.Helper()
		expect.True(t, math.Abs(got-want) <= 1e-9, "%s: %v, want %v", what, got, want)
	}
	near("measured", w.Measured, took)
	near("predicted", w.Predicted, n)
	near("barriers", w.Barriers, n*0.1)
	near("transfers", w.Transfers, 0.5)
	expect.True(t, w.Exchanges == 3 && w.Phases[0].Phase == slowPhase && w.Phases[0].Last == (PairOf{src, dst}) && w.Phases[0].Of == 1,
		"%+v; want phase %d", w, slowPhase)
	near("phase", w.Phases[0].longer(), 0.6)
	near("the next", w.Phases[1].longer(), 0.1) // its barrier
	expect.True(t, len(w.Pairs) == 1 && w.Pairs[0].PairOf == (PairOf{src, dst}) && strings.Contains(w.Pairs[0].Path, "leaf0-spine"),
		"pairs %+v", w.Pairs)
	expect.True(t, len(w.Causes) == 0, "one pair names nobody: %+v", w.Causes)
	var text bytes.Buffer
	expect.OK(t, Document([]*Why{w}).Write(&text, "text"))
	expect.Contains(t, text.String(), "server1 to server4")
}

// A fragment that waits for a link that is down makes its exchange the longest; where all pairs are
// slow alike, nobody stands out.
func TestExplainLongest(t *testing.T) {
	p := fors(t)
	spans := ring(p, 3, 0, func(e, phase, s, d int) float64 {
		if e == 1 && phase == 2 {
			return 5
		}
		return 1.2
	})
	n := float64(p.Phases())
	took := n*1.3 + 3.8/3
	c := results.Case{Name: "c", Mode: modes.Sync, Rates: results.Rates{MeasuredEfficiency: n / took, EventsPerSec: results.NewStat([]float64{1 / took})},
		LinkEvents: []results.LinkEvent{{Link: "leaf0-spine0", TSec: n*1.3 + 1}, {Link: "leaf0-spine0", Up: true, TSec: n*1.3 + 4}, {Link: "leaf1-spine0", TSec: 1}}}
	w := expect.Value(Explain(Split(spans), c, 1, p))(t)
	expect.False(t, w.Longest == nil || w.Longest.Exchange != 1 || math.Abs(w.Longest.Sec-n*1.3-3.8) > 1e-9 || len(w.Longest.Events) != 2 || len(w.Causes) > 0,
		"%+v, %+v", w.Longest, w.Causes)
	var text bytes.Buffer
	const want = "from 6.50 s on; leaf0-spine0 went down at 7.50 s, leaf0-spine0 came back at 10.50 s.\n"
	expect.OK(t, Document([]*Why{w}).Write(&text, "text"))
	expect.Contains(t, text.String(), want, "Nobody stands out.")
}

// Equal traces have equal answers, to the last bit.
func TestExplainRepeats(t *testing.T) {
	p := fors(t)
	spans := ring(p, 3, 0, func(_, _, s, d int) float64 {
		if s == 1 || d == 1 {
			return 2
		}
		return 1 + 0.01*math.Sqrt(float64(7*s+d))
	})
	var first *Why
	for range 50 {
		w, err := Explain(Split(spans), results.Case{Name: "c", Mode: modes.Sync, Rates: results.Rates{MeasuredEfficiency: 0.5, EventsPerSec: results.NewStat([]float64{0.1})}}, 1, p)
		expect.Must(t, err)
		if first = cmp.Or(first, w); len(w.Causes) != 1 || w.Causes[0].Name != "server1 or its cable to leaf0" || !reflect.DeepEqual(w, first) {
			t.Fatalf("%+v, before %+v", w, first)
		}
	}
}

// With a dead link two messages may be predicted to share a link: that is no surprise.
func TestExplainExpectsContention(t *testing.T) {
	tree := expect.Value(topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 3}).Without(topology.Link{Leaf: 0, Spine: 0}))(t)
	p := expect.Value(plan.Build(tree, plan.Options{Schedule: "linear-shift", Routing: "minhop"}))(t)
	a := &account{plan: p, tree: tree, fragment: 1, expect: map[PairOf]float64{}, ranks: map[int]int{}}
	a.idealPhases()
	var sum float64
	for _, x := range a.ideal {
		sum += x
	}
	cost := p.Cost(func(int, int) float64 { return 1 }, 0)
	want := cost.Duration
	expect.True(t, math.Abs(sum-want) <= 1e-9, "phases take %v, the plan predicts %v", sum, want)
}

// Of a ring that has lost the beginning of an exchange only whole exchanges count.
func TestExplainWholeExchanges(t *testing.T) {
	p := fors(t)
	spans := ring(p, 3, 0, func(int, int, int, int) float64 { return 1 })
	n := float64(p.Phases())
	c := results.Case{Name: "c", Mode: modes.Sync, Rates: results.Rates{MeasuredEfficiency: 1 / 1.1, EventsPerSec: results.NewStat([]float64{1 / (1.1 * n)})}}
	w, err := Explain(Split(spans[5:]), c, 1, p)
	expect.True(t, err == nil && w.Exchanges == 2, "%+v, %v", w, err)
	expect.True(t, expect.Err(Explain(Split(spans[:5]), c, 1, p)) != nil, "less than an exchange is explained")
	expect.True(t, expect.Err(Explain(Split(spans), c, 1, nil)) != nil, "phases are explained without a plan")
}

// What Chrome and Perfetto require of each event is there.
func TestWriteChrome(t *testing.T) {
	p := fors(t)
	all := Split(ring(p, 1, 0.1, func(int, int, int, int) float64 { return 1 }))
	at := func(x float64) *float64 { return &x }
	cases := []results.Case{{Name: "c", LinkEvents: []results.LinkEvent{{Link: "leaf0-spine0", TSec: 0.5}},
		Failovers: []results.Failover{{ID: 1, FailoverTimes: results.FailoverTimes{SeenSec: at(0.51), AidedSec: at(0.52), PlannedSec: at(0.6), UpdatedSec: at(0.7)}}}}}
	var b bytes.Buffer
	expect.Must(t, WriteChrome(&b, all, cases))
	var doc struct {
		TraceEvents []struct {
			Name string   `json:"name"`
			Ph   string   `json:"ph"`
			TS   *float64 `json:"ts"`
			Dur  *float64 `json:"dur"`
			PID  *int     `json:"pid"`
			TID  *int     `json:"tid"`
			S    string   `json:"s"`
			Args map[string]any
		} `json:"traceEvents"`
	}
	expect.Must(t, json.Unmarshal(b.Bytes(), &doc))
	tracks, counts := map[string]bool{}, map[string]int{}
	for i, e := range doc.TraceEvents {
		counts[e.Ph]++
		bad := e.Name == "" || e.PID == nil || e.TID == nil
		switch e.Ph {
		case "M":
			name, _ := e.Args["name"].(string)
			tracks[name] = true
			bad = bad || name == "" || e.Name != "process_name" && e.Name != "thread_name"
		case "X":
			bad = bad || e.TS == nil || *e.TS < 0 || e.Dur == nil || *e.Dur < 0
		case "i":
			bad = bad || e.TS == nil || e.S != "p"
		default:
			bad = true
		}
		expect.True(t, !bad, "event %d: %+v", i, e)
	}
	for _, want := range []string{"c, slice 0", "server0", "server5", "links", "fail-over"} {
		expect.True(t, tracks[want], "no track %q in %v", want, tracks)
	}
	if want := len(all[0].Spans) + 3; counts["X"] != want || counts["i"] != 1 {
		t.Errorf("%v, want %d complete", counts, want)
	}
}

// Of an ordered case a pair's paths are told apart by the spines that the trace has, with what
// its sender waited for tokens; a spine that the tree has not is of no path.
func TestExplainSpines(t *testing.T) {
	var spans []results.Span
	for e := range uint64(4) {
		for src := range 6 {
			spans = append(spans, results.Span{Case: "c", Server: src, What: results.SpanExchange, EndSec: 3, Exchange: e, Phase: -1, Peer: -1, Spine: -1})
			for dst := range 6 {
				x := results.Span{Case: "c", Server: src, Peer: dst, What: results.SpanSend, EndSec: 1, Exchange: e, Phase: -1, Spine: int(e % 2)}
				if src/2 == dst/2 {
					x.Spine = -1
				}
				if src == 1 && dst == 4 && e%2 == 1 {
					x.EndSec = 3
				}
				if src == 5 && dst == 0 {
					x.Spine, x.EndSec = 7, 2
				}
				if src != dst {
					wait := x
					wait.What, wait.BeginSec, wait.EndSec = results.SpanTokens, 10, 10.25 // when the port is idle
					spans = append(spans, x, wait)
				}
			}
		}
	}
	c := results.Case{Name: "c", Mode: modes.Ordered, Rates: results.Rates{MeasuredEfficiency: 0.5, EventsPerSec: results.NewStat([]float64{0.25})}}
	w := expect.Value(Explain(Split(spans), c, 0.75, fors(t)))(t)
	expect.Equal(t, fmt.Sprint(w.Pairs), "[{{1 4} 3 1 leaf0-spine1, leaf2-spine1 0.25} {{5 0} 2 1  0.25}]", "w.Pairs)")
	expect.True(t, len(w.Causes) == 0, "two pairs name nobody: %+v", w.Causes)
	var text bytes.Buffer
	expect.OK(t, Document([]*Why{w}).Write(&text, "text"))
	expect.Contains(t, text.String(), "250.00 ms  leaf0-spine1, leaf2-spine1\n")
}

// Without phases, the pair that is slower than the others is named, and no path without a
// plan.
func TestExplainWithoutPhases(t *testing.T) {
	for _, tt := range []struct {
		mode modes.Mode
		what results.SpanKind
	}{{modes.Unsync, results.SpanRequest}, {modes.Ordered, results.SpanSend}} {
		var spans []results.Span
		for src := range 4 {
			spans = append(spans, results.Span{Case: "c", Server: src, What: results.SpanExchange, EndSec: 3, Phase: -1, Peer: -1})
			for dst := range 4 {
				d := 1.0
				if src == 2 && dst == 3 {
					d = 4
				}
				x := results.Span{Case: "c", Server: dst, Peer: src, What: tt.what, EndSec: d, Phase: -1}
				if tt.mode == modes.Ordered {
					x.Server, x.Peer = src, dst
				}
				if src != dst {
					spans = append(spans, x)
				}
			}
		}
		c := results.Case{Name: "c", Mode: tt.mode, Rates: results.Rates{MeasuredEfficiency: 0.5, EventsPerSec: results.NewStat([]float64{0.25})}}
		w := expect.Value(Explain(Split(spans), c, 0.75, nil))(t)
		got := fmt.Sprint(w.Pairs)
		expect.True(t, got == "[{{2 3} 4 1  0}]" && w.Exchanges == 1 && len(w.Causes) == 0, "%s: %s, %+v", tt.mode, got, w)
	}
}

// What an ordered exchange took is of the trace, which has rejected slices, too; a send port
// is not idle before it has sent what the kernel already has.
func TestExplainOrdered(t *testing.T) {
	var spans []results.Span
	for server := range 3 {
		for repeat, scale := range []float64{1, 3} {
			add := func(what results.SpanKind, peer int, begin, end float64) {
				spans = append(spans, results.Span{
					Case: "c", Repeat: repeat, Server: server, What: what, Peer: peer, Phase: -1, BeginSec: begin * scale, EndSec: end * scale,
				})
			}
			add(results.SpanExchange, -1, 0, 2.5)
			add(results.SpanSend, (server+1)%3, 0, 0.25) // sends for 1 s
			add(results.SpanTokens, (server+2)%3, 0.25, 1.5)
			add(results.SpanSend, (server+2)%3, 1.5, 2.5)
		}
	}
	c := results.Case{Name: "c", Mode: modes.Ordered, Rates: results.Rates{MeasuredEfficiency: 0.8, EventsPerSec: results.NewStat([]float64{0.4})}}
	w := expect.Value(Explain(Split(spans), c, 1, nil))(t)
	// Idle from 1 to 1.5 s, and from 1 to 4.5 s.
	expect.True(t, w.Measured == 5 && w.Predicted == 2 && math.Abs(w.Tokens-2) <= 1e-9,
		"an exchange took %v of %v, send ports waited %v; want 5 of 2, 2", w.Measured, w.Predicted, w.Tokens)
}

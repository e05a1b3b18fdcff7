package sim

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"evbench/builder/modes"
	"evbench/plan"
	"evbench/routing"
	"evbench/scheduler/list"
	"evbench/testing/expect"
	"evbench/testing/need"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// ordered is a job of mode ordered on FT(2;4,4), whose windows are planned for the sizes
// without headers.
func ordered(t *testing.T, window int, size func(uint64, int) int, down ...string) *Job {
	t.Helper()
	j := small(t, modes.Ordered, "fors", "", down...)
	j.Window, j.Size, j.Duration = window, size, 100*time.Millisecond
	j.Order = func(after *list.Chain, first uint64, exchanges int) (*list.Plan, error) {
		tr := after.Tree()
		var all []*list.Matrix
		for e := range exchanges {
			m, err := list.Exchange(tr.Shape, j.Size, first+uint64(e))
			if err != nil {
				return nil, err
			}
			all = append(all, m)
		}
		if j.Equal {
			after = nil
		}
		return list.MakeWindow(tr, all, list.Options{Seed: j.Seed, Runs: 2, After: after})
	}
	return j
}

// exponential are sizes of about a mean.
func exponential(mean float64) func(uint64, int) int {
	return func(event uint64, src int) int {
		u := (float64(routing.Mix(event, uint64(src))>>11) + 0.5) / (1 << 53)
		return int(-mean * math.Log(u))
	}
}

// oneIn are sizes of which most are none.
func oneIn(n uint64) func(uint64, int) int {
	return func(event uint64, src int) int {
		if routing.Mix(event, uint64(src))%n > 0 {
			return 0
		}
		return exponential(mega)(event+1, src)
	}
}

// kinds are jobs of all kinds.
func kinds(t *testing.T) map[string]*Job {
	out := map[string]*Job{}
	for name, size := range map[string]func(uint64, int) int{
		"equal": equal, "spread": spreadSizes(mega, 0.5), "exponential": exponential(mega), "one in 4": oneIn(4), "one in 20": oneIn(20),
	} {
		for _, window := range []int{1, 3} {
			for _, down := range [][]string{nil, {"leaf0-spine1"}, {"leaf0-spine1", "leaf2-spine1", "leaf2-spine3"}} {
				j := ordered(t, window, size, down...)
				j.Equal = name == "equal"
				out[fmt.Sprintf("%s, window %d, %d dead", name, window, len(down))] = j
			}
		}
	}
	return out
}

var overheads = Timing{Round: 50 * time.Microsecond, Overhead: 30 * time.Microsecond, Jitter: 200 * time.Microsecond}

// Of one window without headers and overheads the longest path is the time of its plan.
func TestOrderedIsItsPlan(t *testing.T) {
	for name, j := range kinds(t) {
		j.Header, j.Duration = 0, time.Hour
		p := expect.Value(j.Order(list.NewChain(j.Plan.Tree), 0, j.Window))(t)
		x := newPaths(j)
		expect.Must(t, x.window())
		near(t, name, x.done*1e9, float64(p.Time))
	}
}

// All that is counted agrees, in every model.
func TestOrderedBuildsEachEventOnce(t *testing.T) {
	for name, j := range kinds(t) {
		if strings.HasPrefix(name, "one in") {
			continue // counts holds bytes against those of all pairs
		}
		j.Timing = overheads
		counts(t, j, phase(t, j))
		o := outcome(t, j)
		counts(t, j, o)
		expect.True(t, reflect.DeepEqual(o, outcome(t, j)), "%s: a second run differs", name)
	}
}

// With tokens no wire carries two pieces at a time: flows that share wires, and so slow
// each other down where they meet, take what the longest path says, which knows no wires.
func TestOrderedModelsAgree(t *testing.T) {
	for name, j := range kinds(t) {
		j.Interval = 20100100 * time.Nanosecond // at which no fragment ends
		for _, j.Timing = range []Timing{overheads, {}, {Round: time.Millisecond}}[:expect.Samples(3, 1)] {
			want, got := phase(t, j), outcome(t, j)
			expect.True(t, got.Exchanges == want.Exchanges, "%s: %d exchanges of flows, %d of the longest path", name, got.Exchanges, want.Exchanges)
			within(t, name+": span of flows", got.Span.Seconds(), want.Span.Seconds(), 1e-7)
			for w := range want.Wires {
				near(t, fmt.Sprint(name, ": wire ", w), got.Wires[w], want.Wires[w])
			}
			for i, s := range want.samples {
				g := got.samples[i]
				expect.True(t, g.Events == s.Events && g.PayloadBytes == s.PayloadBytes,
					"%s: sample %+v of flows, %+v of the longest path", name, g, s)
			}
		}
	}
}

// Packets take longer by what they need from end to end, and no more.
func TestOrderedInPackets(t *testing.T) {
	for name, j := range kinds(t) {
		if !strings.HasSuffix(name, "window 3, 1 dead") {
			continue
		}
		j.Duration = 30 * time.Millisecond
		for _, perOutput := range []bool{false, true}[:expect.Samples(2, 1)] {
			j.Lossless = lossless(perOutput)
			j.Lossless.Packet = 8192
			want, got := phase(t, j).Span.Seconds(), packets(t, j).Span.Seconds()
			expect.True(t, got >= 0.9999*want && got <= 1.02*want,
				"%s, per output %t: packets take %v, the longest path %v", name, perOutput, got, want)
		}
	}
}

// TestOrderedAgainstSimple holds the longest path against one that knows of windows only when
// they begin, and in which order their pieces use each wire.
func TestOrderedAgainstSimple(t *testing.T) {
	need.Heavy(t)
	for name, j := range kinds(t) {
		for _, j.Timing = range []Timing{{}, {Round: 50 * time.Microsecond, Overhead: 30 * time.Microsecond}, {Round: time.Millisecond}}[:expect.Samples(3, 2)] {
			if strings.HasPrefix(name, "one in 20") && j.Timing.Round > 0 {
				continue // tokens of windows before the last are taken to have come
			}
			j.Exchanges = 8
			o := phase(t, j)
			near(t, name, o.Span.Seconds(), simpleOrdered(t, j, int(o.Exchanges))-j.Timing.Overhead.Seconds())
		}
	}
}

// On three levels and with parallel cables the same holds.
func TestOrderedOnTrees(t *testing.T) {
	for _, o := range []topology.Options{{Ports: 2, Leaves: 4, Pods: 2}, {Ports: 3, Leaves: 3, Spines: 2, Cables: 2}} {
		j := ordered(t, 2, exponential(1e5))
		j.Plan, j.Exchanges, j.Timing = podPlan(t, o), 6, Timing{Round: 50 * time.Microsecond, Overhead: 30 * time.Microsecond}
		out := phase(t, j)
		near(t, j.Plan.Tree.Notation(), out.Span.Seconds(), simpleOrdered(t, j, int(out.Exchanges))-j.Timing.Overhead.Seconds())
	}
}

func simpleOrdered(t *testing.T, j *Job, exchanges int) (last float64) {
	t.Helper()
	type use struct {
		end      float64
		src, dst int
	}
	on := map[int32]use{} // by wire, the last
	net, chain := networkOf(j.Plan, 0), list.NewChain(j.Plan.Tree)
	begin := 0.0
	for first := 0; first < exchanges; first += j.Window {
		sent, before := map[int]float64{}, last // when the windows before are received
		p := expect.Value(j.Order(chain, uint64(first), min(j.Window, exchanges-first)))(t)
		chain.Add(p)
		for x := range p.Pieces() {
			path := net.through(nil, x.Src, x.Dst, x.Path)
			start := begin
			for _, w := range path {
				switch b, ok := on[w]; {
				case !ok:
				case b.src == x.Src || b.dst == x.Src:
					start = max(start, b.end)
				default:
					start = max(start, b.end+j.Timing.Round.Seconds())
				}
			}
			end := start + j.Timing.Overhead.Seconds() + float64(x.Bytes+int64(j.Header))*8/j.BitPerSec
			for _, w := range path {
				on[w] = use{end, x.Src, x.Dst}
			}
			last, sent[x.Src] = max(last, end), end
		}
		begin = math.Inf(1)
		for _, end := range sent {
			begin = min(begin, end)
		}
		begin = max(begin, before)
	}
	return last
}

// A change takes over with the next window, when all that is granted is done.
func TestOrderedChange(t *testing.T) {
	j := ordered(t, 2, spreadSizes(mega, 0.5))
	j.Timing, j.Duration = overheads, 200*time.Millisecond
	healthy := phase(t, j)
	j.Changes = []Change{
		{At: 40 * time.Millisecond, Plan: planOf(t, topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 4}, "leaf0-spine1"), plan.Options{Schedule: "fors", Seed: 1})},
		{At: 120 * time.Millisecond, Plan: j.Plan},
	}
	o := phase(t, j)
	counts(t, j, o)
	up := j.Plan.Tree.UpWire(topology.Link{Leaf: 0, Spine: 1})
	expect.True(t, o.Wires[up] < healthy.Wires[up] && o.Wires[up] != 0 && o.Span > healthy.Span*99/100,
		"%v with a link dead in between, %v without; it carried %.0f and %.0f bytes", o.Span, healthy.Span, o.Wires[up], healthy.Wires[up])
	// Flows whose link has died take the new plan's paths, and share these.
	got := outcome(t, j)
	counts(t, j, got)
	within(t, "span of flows", got.Span.Seconds(), o.Span.Seconds(), 0.15)
	expect.True(t, got.Wires[up] <= o.Wires[up], "the dead link carried %.0f bytes of flows, %.0f of the longest path", got.Wires[up], o.Wires[up])
	j.Lossless = lossless(true)
	counts(t, j, packets(t, j))
}

// Tokens that come late cost what they are late, at the pieces that wait for them.
func TestOrderedOverheadsCost(t *testing.T) {
	j := ordered(t, 1, spreadSizes(mega, 0.5), "leaf0-spine1")
	j.Duration = 0
	var spans []time.Duration
	for _, round := range []time.Duration{0, 100 * time.Microsecond, time.Millisecond} {
		j.Timing.Round = round
		spans = append(spans, phase(t, j).Span)
	}
	expect.True(t, slices.IsSorted(spans) && spans[2] >= spans[0]+5*time.Millisecond, "with tokens of 0, 0.1 and 1 ms: %v", spans)
}

func TestOrderedRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		with       func(*Job)
	}{
		{"no window", "windows", func(j *Job) { j.Window = 0 }},
		{"no plan", "no one", func(j *Job) {
			j.Order = func(*list.Chain, uint64, int) (*list.Plan, error) { return nil, fmt.Errorf("no one plans") }
		}},
	} {
		j := ordered(t, 1, equal)
		tt.with(j)
		j.Lossless = lossless(false)
		for model, run := range map[string]Model{"phase": Phase, "fluid": Fluid, "packets": Packets} {
			if _, err := run(t.Context(), j, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s, %s: error %v", tt.name, model, err)
			}
		}
	}
}

// Exactly so many exchanges, whatever the duration, in each model that has them.
func TestExactly(t *testing.T) {
	j := ordered(t, 3, spreadSizes(mega, 0.5))
	j.Exchanges = 7
	for _, o := range []*Outcome{phase(t, j), outcome(t, j)} {
		expect.Equal(t, o.Exchanges, 7, "exchanges")
	}
	j.Mode = modes.Sync
	expect.Equal(t, phase(t, j).Exchanges, 7, "exchanges in phases")
}

// Without the tokens for links pieces share these, where links are dead; the phase model
// does not know what that costs.
func TestPortTokens(t *testing.T) {
	j := ordered(t, 3, spreadSizes(mega, 0.5), "leaf0-spine1")
	j.Exchanges, j.Timing = 6, overheads
	all := outcome(t, j)
	j.PortTokens = true
	some := outcome(t, j)
	expect.True(t, some.Span >= all.Span*103/100, "%v without the tokens for links, %v with them", some.Span, all.Span)
	expect.True(t, expect.Err(Phase(t.Context(), j, nil)) != nil, "the phase model takes it")
}

// Stragglers are a share of all sends, late by the same.
func TestStragglers(t *testing.T) {
	x, late := Timing{Stragglers: 0.01, Straggle: time.Second}, 0
	for i := range uint64(100_000) {
		switch at := x.late(routing.Mix(3, i)); at {
		case 1:
			late++
		case 0:
		default:
			t.Fatalf("late by %v", at)
		}
	}
	expect.True(t, late >= 900 && late <= 1100, "%d of 100000 are late", late)
	j := ordered(t, 3, equal)
	j.Exchanges = 3
	on := phase(t, j).Span
	j.Timing = Timing{Stragglers: 0.01, Straggle: 5 * time.Millisecond}
	if o, f := phase(t, j), outcome(t, j); o.Span < on+5*time.Millisecond {
		t.Errorf("%v with stragglers, %v without", o.Span, on)
	} else {
		within(t, "span of flows", f.Span.Seconds(), o.Span.Seconds(), 1e-7)
	}
}

package tables

import (
	"context"
	"fmt"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/internal/answer"
	"evbench/model/sim"
	"evbench/plan"
	"evbench/scheduler"
	"evbench/scheduler/list"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// What TokensTable simulates.
const (
	tokenWindow    = 3  // exchanges that are planned together
	tokenExchanges = 12 // of a run
)

// tokenTiming is the cost of events beside their bytes: a scenario's defaults for the lab, and half
// a message of jitter.
var tokenTiming = sim.Timing{
	Barrier: "tournament", Round: 25 * time.Microsecond, Overhead: 50 * time.Microsecond, Jitter: 100 * time.Microsecond,
}

// stragglers delays one send in a thousand by five fragments.
func stragglers(t sim.Timing, fragment time.Duration) sim.Timing {
	t.Stragglers, t.Straggle = 0.001, 5*fragment
	return t
}

var tokenSizes = []struct {
	name string
	builder.Distribution
}{
	{"equal", builder.Distribution{}},
	{"uniform10", builder.Distribution{Spread: 0.1}},
	{"uniform50", builder.Distribution{Spread: 0.5}},
	{"exponential", builder.Distribution{Kind: builder.Exponential}},
	{"source50", builder.Distribution{Spread: 0.5, By: builder.BySource}},
}

type tokenRun struct {
	tree     *topology.Tree
	dead     int
	sizes    int // of tokenSizes
	fragment time.Duration
	seed     uint64

	fors    *plan.Plan
	windows map[tokenWindowKey]*list.Plan
}

type tokenWindowKey struct {
	order     string
	first     uint64
	exchanges int
}

// TokensTable simulates building events in phases with barriers, and in order with tokens, with the
// cost of messages beside their bytes and with stragglers: least time over time. The seed draws
// sizes, dead links and delays.
func TokensTable(run Run, t *topology.Tree, seed uint64) (*answer.Table, error) {
	if _, err := list.NewMatrix(t.Servers()); err != nil {
		return nil, err
	}
	table := &answer.Table{Name: "tokens", Topology: t.Notation(), Notes: []string{
		fmt.Sprintf("T*/T: least time that the bytes of %d exchanges need together over the simulated time", tokenExchanges),
		fmt.Sprintf("phases: FORS with barriers; FORS, planned: order with tokens, windows of %d exchanges; ports only: planned, without the tokens for links", tokenWindow),
		fmt.Sprintf("a round of the barrier (tournament) or a token %s, a message %s and up to %s more", tokenTiming.Round, tokenTiming.Overhead, tokenTiming.Jitter),
		"stragglers: one message in 1000 late by five mean fragments",
		"sizes: uniform10 ±10 %, uniform50 ±50 %, exponential; source50 ±50 % by source; fragment: how long the mean takes on a link",
	}, Columns: []answer.Column{
		col("dead", "dead_links", 0), col("sizes", "sizes", 0), col("fragment ms", "fragment_ms", 1),
		col("phases", "phases_ratio", 3), col("FORS", "fors_order_ratio", 3), col("planned", "planned_ratio", 3),
		col("ports only", "ports_only_ratio", 3),
		col("stragglers: phases", "phases_stragglers_ratio", 3), col("planned", "planned_stragglers_ratio", 3),
	}}
	var runs []*tokenRun
	for _, dead := range []int{0, 1} {
		broken := connectedDraw(t, dead, seed)
		if broken == nil {
			continue
		}
		for s := range tokenSizes {
			for _, fragment := range []time.Duration{time.Millisecond, 2 * time.Millisecond, 10 * time.Millisecond, 50 * time.Millisecond} {
				runs = append(runs, &tokenRun{tree: broken, dead: dead, sizes: s, fragment: fragment, seed: seed})
			}
		}
	}
	ratios, err := rows(run, len(runs), nil, func(i int) ([]float64, error) { return runs[i].work() })
	if err != nil {
		return nil, err
	}
	for i, r := range runs {
		row := []any{r.dead, tokenSizes[r.sizes].name, float64(r.fragment) / 1e6}
		for _, x := range ratios[i] {
			row = append(row, x)
		}
		table.Add(row...)
	}
	return table, nil
}

func (r *tokenRun) work() (ratios []float64, err error) {
	if r.fors, err = plan.Build(r.tree, plan.Options{Schedule: schedules.FORS, Seed: r.seed}); err != nil {
		return nil, err
	}
	least, err := r.least()
	if err != nil {
		return nil, err
	}
	slow := stragglers(tokenTiming, r.fragment)
	for _, x := range []struct {
		mode       modes.Mode
		order      string
		timing     sim.Timing
		portTokens bool
	}{
		{modes.Sync, "", tokenTiming, false}, {modes.Ordered, list.OrderFORS, tokenTiming, false},
		{modes.Ordered, "", tokenTiming, false}, {modes.Ordered, "", tokenTiming, true},
		{modes.Sync, "", slow, false}, {modes.Ordered, "", slow, false},
	} {
		j := r.job(x.mode, x.order, x.timing)
		model := sim.Phase
		if j.PortTokens = x.portTokens; x.portTokens {
			model = sim.Fluid
		}
		o, err := model(context.Background(), j, nil)
		if err != nil {
			return nil, err
		}
		ratios = append(ratios, least/o.Span.Seconds())
	}
	return ratios, nil
}

func (r *tokenRun) job(mode modes.Mode, order string, timing sim.Timing) *sim.Job {
	j := &sim.Job{
		Setting: builder.Setting{Name: tokenSizes[r.sizes].name, Mode: mode, Credits: 1, Window: tokenWindow}, Plan: r.fors, Size: r.size,
		Exchanges: tokenExchanges, BitPerSec: 8 * meanSize / r.fragment.Seconds(),
		Timing: timing, Common: builder.Common{Seed: r.seed},
	}
	if mode == modes.Ordered {
		j.Timing.Barrier = ""
		overhead := int64((timing.Round + timing.Overhead).Seconds() * j.BitPerSec / 8)
		j.Order = func(after *list.Chain, first uint64, exchanges int) (*list.Plan, error) {
			return r.window(after, tokenWindowKey{order, first, exchanges}, overhead)
		}
	}
	return j
}

func (r *tokenRun) window(after *list.Chain, of tokenWindowKey, overhead int64) (*list.Plan, error) {
	if p := r.windows[of]; p != nil {
		return p, nil
	}
	var window []*list.Matrix
	for e := range of.exchanges {
		m, err := list.Exchange(after.Tree().Shape, r.size, of.first+uint64(e))
		if err != nil {
			return nil, err
		}
		window = append(window, m)
	}
	p, err := list.MakeWindow(after.Tree(), window, list.Options{Seed: r.seed, Order: of.order, Overhead: overhead, After: after})
	if r.windows == nil {
		r.windows = map[tokenWindowKey]*list.Plan{}
	}
	r.windows[of] = p
	return p, err
}

func (r *tokenRun) size(event uint64, source int) int {
	of := builder.Sizes{Mean: meanSize, Seed: r.seed, Roles: builder.Roles{Servers: r.tree.Servers()}, Distribution: tokenSizes[r.sizes].Distribution}
	return of.Of(event, source)
}

// least returns the seconds that the bytes of all exchanges need together.
func (r *tokenRun) least() (float64, error) {
	n := r.tree.Servers()
	sum := make([]int64, n*n)
	for i := range sum {
		for e := range tokenExchanges {
			if src, dst := i/n, i%n; src != dst {
				sum[i] += int64(r.size(uint64(e*n+dst), src))
			}
		}
	}
	bound, _, err := scheduler.BoundBytes(r.tree, func(src, dst int) int64 { return sum[src*n+dst] })
	return float64(bound.Phases) / meanSize * r.fragment.Seconds(), err
}

package plan_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"evbench/plan"
	"evbench/routing"
	"evbench/scheduler"
	"evbench/scheduler/judge"
	"evbench/site/engines"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

func build(t *testing.T, tr *topology.Tree, schedule, engine string) *plan.Plan {
	t.Helper()
	p := expect.Value(plan.Build(tr, plan.Options{Engines: engines.Trees(), Schedule: schedule, Routing: engine, Seed: 1}))(t)
	return p
}

var (
	ft44  = topology.Options{Ports: 4, Leaves: 4}
	ft88  = topology.Options{Ports: 8, Leaves: 8}
	seven = topology.Options{Ports: 8, Leaves: 8, Fill: []int{7, 7, 7, 7, 7, 7, 7, 7}}
)

// diagonal is one dead link on every leaf, over different spines.
var diagonal = []string{
	"leaf0-spine0", "leaf1-spine1", "leaf2-spine2", "leaf3-spine3",
	"leaf4-spine4", "leaf5-spine5", "leaf6-spine6", "leaf7-spine7",
}

// What a dead link costs, in figures that were worked out independently.
func TestCost(t *testing.T) {
	for _, tt := range []struct {
		name             string
		tree             topology.Options
		down             []string
		schedule, engine string
		sync, unsync     float64
	}{
		{"healthy", ft44, nil, "linear-shift", routing.Ftree, 1, 1},
		{"lowest ties", ft44, []string{"leaf0-spine0"}, "linear-shift", routing.MinHop, 15. / 26, 0.625},
		{"rotated ties", ft44, []string{"leaf0-spine0"}, "linear-shift", routing.Spread, 15. / 26, 0.9375},
		{"64 servers", ft88, []string{"leaf0-spine0"}, "linear-shift", routing.MinHop, 63. / 118, math.NaN()},
		{"fors healthy", ft44, nil, "fors", routing.Pinned, 1, 1},
		{"fors, one link", ft44, []string{"leaf0-spine0"}, "fors", routing.Pinned, 15. / 16, math.NaN()},
		{"fors, one link, 64 servers", ft88, []string{"leaf0-spine0"}, "fors", routing.Pinned, 63. / 64, math.NaN()},
		{"fors, eight links, 56 servers", seven, diagonal, "fors", routing.Pinned, 1, 1},
		{"no schedule", ft44, []string{"leaf0-spine0"}, "", routing.Spread, 0, 0.9375},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := build(t, topologytest.Tree(t, tt.tree, tt.down...), tt.schedule, tt.engine).Cost(plan.Equal, 1)
			got := c.Synchronised()
			expect.True(t, math.Abs(got-tt.sync) <= 1e-3, "synchronised %.4f, want %.4f", got, tt.sync)
			if got := c.Unsynchronised(); math.Abs(got-tt.unsync) > 1e-3 {
				t.Errorf("unsynchronised %.4f, want %.4f", got, tt.unsync)
			}
		})
	}
}

// Over all 16 links of FT(2;4,4), a dead one costs a linear shift over min-hop
// between 0.556 and 0.625.
func TestCostOverAllLinks(t *testing.T) {
	least, most := 1.0, 0.0
	healthy := topologytest.Tree(t, ft44)
	for leaf := range 4 {
		for spine := range 4 {
			tr := expect.Value(healthy.Without(topology.Link{Leaf: leaf, Spine: spine}))(t)
			e := build(t, tr, "linear-shift", routing.MinHop).Cost(plan.Equal, 1).Synchronised()
			least, most = min(least, e), max(most, e)
		}
	}
	expect.True(t, math.Abs(least-0.556) <= 1e-3 && most == 0.625, "%.4f..%.4f, want 0.556..0.625", least, most)
}

// Partly filled leaves cost a linear shift its contention-freedom: the wrap
// collides. That of ports keeps it over OpenSM's ftree, in 359 phases for 325 messages
// of a server.
func TestCostOfPartlyFilledLeaves(t *testing.T) {
	fill := append([]int{19, 19}, slicesOf(18, 16)...)
	lhcbA := topologytest.Tree(t, topology.Options{Ports: 20, Leaves: 18, Fill: fill})
	e := build(t, lhcbA, "linear-shift", routing.Ftree).Cost(plan.Equal, 1).Synchronised()
	expect.True(t, math.Abs(e-0.529) <= 0.001, "linear shift on 326 servers: %.3f, want 0.529", e)
	ports := build(t, lhcbA, "linear-shift-ports", routing.Ftree)
	if e := ports.Cost(plan.Equal, 1).Synchronised(); ports.Phases() != 359 || math.Abs(e-325./359) > 1e-9 {
		t.Errorf("linear shift of ports on 326 servers: %.4f in %d phases, want %.4f in 359", e, ports.Phases(), 325./359)
	}
	expect.Equal(t, build(t, lhcbA, "fors", "").Cost(plan.Equal, 1).Synchronised(), 1, "fors on 326 servers")
}

// A shift by port over OpenSM's ftree shares no link, however leaves are filled.
func TestShiftByPortAnyFill(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		o := topology.Options{Ports: 2 + rng.IntN(6), Fill: []int{1, 1}}
		for range rng.IntN(5) {
			o.Fill = append(o.Fill, rng.IntN(o.Ports+1))
		}
		rng.Shuffle(len(o.Fill), func(i, j int) { o.Fill[i], o.Fill[j] = o.Fill[j], o.Fill[i] })
		o.Leaves = len(o.Fill)
		p := build(t, topologytest.Tree(t, o), "linear-shift-ports", routing.Ftree)
		if d := p.Cost(plan.Equal, 1).Duration; d != float64(p.Phases()) {
			t.Errorf("%s, fill %v: %g message times in %d phases", p.Tree.Notation(), o.Fill, d, p.Phases())
		}
	}
}

func slicesOf(v, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// Under ecmp the kernel's hash collides; the expectation is far below 1 and the
// same for the same seed.
func TestCostECMP(t *testing.T) {
	p := build(t, topologytest.Tree(t, ft44), "linear-shift", routing.ECMP)
	a, b := p.Cost(plan.Equal, 1), p.Cost(plan.Equal, 1)
	expect.True(t, a == b && a.Synchronised() >= 0.3 && a.Synchronised() <= 0.7, "%+v and %+v", a, b)
	mean := a.Unsynchronised()
	expect.True(t, a.Drawn[0] < mean && mean < a.Drawn[1] && a.Drawn[1] <= 1, "a mean of %g, draws of %v", mean, a.Drawn)
	if _, ok := p.Loads(plan.Equal); ok {
		t.Error("the plan claims to know what the kernel's hash does")
	}
}

// Sprayed messages count in equal shares on the spines that are alive at both ends.
func TestCostSpray(t *testing.T) {
	for _, tt := range []struct {
		schedule string
		down     []string
		want     float64 // duration, or the busiest wire
	}{
		{"linear-shift", nil, 15},
		{"", nil, 15},
		{"", []string{"leaf0-spine0"}, 16},             // 48 messages leave leaf0 over three spines
		{"linear-shift", []string{"leaf0-spine0"}, 18}, // 4/3 in the nine phases in which all four of leaf0 send away, 1 in the others
	} {
		c := build(t, topologytest.Tree(t, ft44, tt.down...), tt.schedule, routing.Spray).Cost(plan.Equal, 1)
		got := c.Duration
		if tt.schedule == "" {
			got = c.Busiest
		}
		expect.True(t, math.Abs(got-tt.want) <= 1e-9, "%q without %v: %v, want %v", tt.schedule, tt.down, got, tt.want)
	}
	if _, ok := build(t, topologytest.Tree(t, ft44), "linear-shift", routing.Spray).Loads(plan.Equal); ok {
		t.Error("the plan claims to know what chance does")
	}
}

func TestCostUnequal(t *testing.T) {
	p := build(t, topologytest.Tree(t, ft44), "linear-shift", routing.Ftree)
	c := p.Cost(func(src, _ int) float64 { return 1 + float64(src%2) }, 1)
	// Odd ranks send 2 each: the busiest server sends 30; every phase waits for a 2.
	expect.True(t, c.Ideal == 30 && c.Duration == 30, "%+v, want ideal 30 and duration 30", c)
}

func TestBuildRefuses(t *testing.T) {
	healthy := topologytest.Tree(t, ft44)
	for _, tt := range []struct {
		name string
		tree *topology.Tree
		o    plan.Options
		want string
	}{
		{"pinned without a schedule", healthy, plan.Options{Engines: engines.Trees(), Routing: "pinned"}, "routing pinned needs a schedule"},
		{"objective of another schedule", healthy, plan.Options{Engines: engines.Trees(), Schedule: "xor", Objective: "paths"}, "only the schedule fors has objectives"},
		{"unknown objective", healthy, plan.Options{Engines: engines.Trees(), Schedule: "fors", Objective: "speed"}, "there are phases, paths, balanced"},
		{"unknown engine", healthy, plan.Options{Engines: engines.Trees(), Schedule: "linear-shift", Routing: "magic"}, "there are ftree, minhop, spread, ecmp, spray, adaptive, opensm-minhop, "},
		{"unknown schedule", healthy, plan.Options{Engines: engines.Trees(), Schedule: "magic"}, "linear-shift"},
		{"too many servers", topologytest.Tree(t, topology.Options{Ports: 254, Leaves: 200}), plan.Options{Engines: engines.Trees(), Schedule: "linear-shift"}, "50800 servers"},
		{"xor of 15", topologytest.Tree(t, topology.Options{Ports: 3, Leaves: 5}), plan.Options{Engines: engines.Trees(), Schedule: "xor"}, "power of two"},
	} {
		expect.Error(t, expect.Err(plan.Build(tt.tree, tt.o)), tt.want)
	}
	cut := topologytest.Tree(t, ft44, "leaf0-spine0", "leaf0-spine1", "leaf0-spine2", "leaf0-spine3")
	var u *topology.UnreachableError
	if _, err := plan.Build(cut, plan.Options{Engines: engines.Trees(), Schedule: "fors"}); !errors.As(err, &u) {
		t.Errorf("a leaf without links: error = %v, want *UnreachableError", err)
	}
}

// The file forms say what the plan says: the judge reads the text, JSON has the same, and Read gives it back.
func TestFilesAreJudgedValid(t *testing.T) {
	trees := []*topology.Tree{
		topologytest.Tree(t, ft88, "leaf0-spine0", "spine3"),
		topologytest.Tree(t, topology.Options{Ports: 3, Leaves: 5, Fill: []int{3, 3, 3, 3, 1}}, "leaf1-spine1"),
		topologytest.Tree(t, topology.Options{Ports: 3, Leaves: 3}, "leaf0-spine0", "leaf1-spine1", "leaf2-spine1"),
	}
	rng := rand.New(rand.NewPCG(7, 1))
	for m0 := 1; m0 <= 5; m0++ {
		for m1 := 1; m1 <= 5; m1++ {
			if tr, ok := topologytest.Random(t, rng, m0, m1); ok {
				trees = append(trees, tr)
			}
		}
	}
	kinds := map[string]int{}
	for _, tr := range trees {
		for _, kind := range [][2]string{
			{"fors", "pinned"}, {"fors", "none"}, {"linear-shift", "ftree"}, {"linear-shift", "spread"}, {"linear-shift", "ecmp"},
			{"linear-shift", "none"}, {"bandwidth-optimal", "minhop"}, {"bandwidth-optimal", "none"},
		} {
			p := build(t, tr, kind[0], kind[1])
			kinds[p.Bound.Kind]++
			judged(t, p)
		}
	}
	expect.True(t, kinds["server"] != 0 && kinds["leaf"] != 0, "bounds %v: want some of each kind", kinds)
}

// judged returns what the judge says of the text form of a plan that is valid. It holds
// the figures of the plan, the JSON form and what is read of the text against it. The judge
// also proves the bound by its witness.
func judged(t testing.TB, p *plan.Plan) *judge.Report {
	t.Helper()
	text, doc := write(t, p)
	f, err := judge.Read(bytes.NewReader(text))
	expect.MustTrue(t, err == nil, "%v\n%s", err, text)
	r := judge.Check(f, judge.Options{AllowContention: !p.Pinned(), Bound: true})
	if err := p.Judge(); err != nil || !r.Valid || r.Bound != nil && !r.Bound.Proven && r.Bound.Kind != scheduler.KindLP {
		t.Fatalf("%s down %v: %v, %+v", p.Tree.Notation(), p.Tree.DownNames(), err, r)
	}
	c := p.Cost(plan.Equal, 1)
	expect.False(t, r.Duration > 0 && float64(r.Duration) != c.Duration,
		"%s, routing %s: the judge counts a duration of %g, the plan %v", p.Tree.Notation(), p.Routing, r.Duration, c.Duration)
	same(t, p, restored(t, text))
	var says struct {
		Topology, Schedule, Routing, Hash string
		Phases                            int
		Duration                          float64
		Paths                             *topology.Paths
		Bound                             *struct {
			Phases int
			Kind   string
		}
		Messages [][]int
	}
	expect.Must(t, json.Unmarshal(doc, &says))
	if says.Topology != p.Tree.Notation() || says.Schedule != f.Schedule || says.Routing != f.Routing || says.Hash != f.Hash || says.Phases != r.Phases ||
		p.Cost(plan.Equal, 0).Duration != says.Duration || says.Paths != nil && *says.Paths != *r.Paths ||
		(says.Bound == nil) != (r.Bound == nil) || r.Bound != nil && (says.Bound.Phases != int(r.Bound.Value) || says.Bound.Kind != r.Bound.Kind) ||
		len(says.Messages) != len(f.Messages) {
		t.Fatalf("the text says %+v, JSON %s", f, doc)
	}
	for i, m := range f.Messages {
		want := []int{int(m.Phase), int(m.Src), int(m.Dst), int(m.Spine)}
		switch up, down := m.Cables(); {
		case p.Tree.Levels() == 3:
			want = append(want, int(m.Top))
		case p.Tree.Cables() > 1 && m.Top == judge.NoTop:
			want = append(want, -1, -1)
		case p.Tree.Cables() > 1:
			want = append(want, up, down)
		}
		expect.MustTrue(t, slices.Equal(says.Messages[i], want), "message %d is %v in JSON, %v in text", i, says.Messages[i], want)
	}
	return r
}

// A plan that is not what it claims to be is refused, also one whose bound its weights do
// not prove.
func TestJudge(t *testing.T) {
	three := topology.Options{Ports: 3, Leaves: 3}
	bad := *build(t, topologytest.Tree(t, three, "leaf0-spine1"), "fors", "")
	bad.Tree = topologytest.Tree(t, three, "leaf0-spine1", "leaf2-spine0") // the plan goes over leaf2-spine0
	expect.Error(t, bad.Judge(), "the judge refuses the plan")
	bad = *build(t, topologytest.Tree(t, three, "leaf0-spine0", "leaf1-spine1", "leaf2-spine1"), "fors", "")
	bad.Bound = scheduler.Bound{Phases: 18, Kind: scheduler.KindLP, Weights: make([]int64, 2*9)}
	link := topology.Link{Leaf: 0, Spine: 2}
	bad.Bound.Weights[bad.Tree.UpWire(link)] = 3
	expect.OK(t, bad.Judge(), "weights that prove the bound")
	var text bytes.Buffer
	expect.OK(t, bad.WriteText(&text))
	expect.Contains(t, text.String(), "\n# bound 18 lp\n")
	stated := strings.Replace(text.String(), "18 lp", "18 lp leaf0-spine2/up=3", 1)
	q := restored(t, []byte(stated))
	expect.True(t, slices.Equal(q.Bound.Weights, bad.Bound.Weights) && q.Judge() == nil,
		"weights %v come back, want %v", q.Bound.Weights, bad.Bound.Weights)
	bad.Bound.Weights[bad.Tree.UpWire(topology.Link{Leaf: 1, Spine: 0})] = 3
	expect.Error(t, bad.Judge(), "the file states bound 18 by lp, which proves")
}

// A row asks for spines only where the plan pins them.
func TestRow(t *testing.T) {
	tr := topologytest.Tree(t, ft44, "leaf0-spine0")
	pinned, tables := build(t, tr, "fors", ""), build(t, tr, "fors", routing.MinHop)
	for rank := range tr.Servers() {
		a, b := pinned.Row(rank), tables.Row(rank)
		for phase := range a {
			to := a[phase].To
			if to != scheduler.Idle {
				spine, _ := tr.SpineTop(pinned.Path(rank, to))
				expect.Equal(t, a[phase].ToSpine, spine, "rank %d phase %d", rank, phase)
			}
			expect.True(t, b[phase].To == to && b[phase].ToSpine == scheduler.None && b[phase].FromSpine == scheduler.None,
				"rank %d phase %d over tables: %+v", rank, phase, b[phase])
		}
	}
	expect.True(t, build(t, tr, "", routing.MinHop).Row(0) == nil, "a row without a schedule")
}

func TestHash(t *testing.T) {
	tr := topologytest.Tree(t, ft44)
	a, b := build(t, tr, "fors", ""), build(t, tr, "fors", "")
	expect.True(t, a.Hash() == b.Hash(), "one plan, two hashes")
	expect.True(t, a.Hash() != build(t, topologytest.Tree(t, ft44, "leaf0-spine0"), "fors", "").Hash(), "two plans, one hash")
	x, y := build(t, tr, "", "ftree"), build(t, tr, "", "ecmp")
	expect.True(t, x.Hash() != y.Hash(), "two routings without a schedule, one hash")
}

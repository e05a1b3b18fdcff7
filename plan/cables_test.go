package plan_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"evbench/plan"
	"evbench/routing"
	"evbench/scheduler/judge"
	"evbench/scheduler/schedules"
	"evbench/site/engines"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// tally counts how far plans are from their bounds.
type tally struct{ trees, above, far int }

// plans plans for random trees, has each plan judged from its file with its bound, and counts.
func (y *tally) plans(t testing.TB, rng *rand.Rand, trees, ports, leaves int, roles bool) (took time.Duration) {
	for range trees {
		tree := topologytest.Cables(t, rng, ports, leaves, max(1, ports/2))
		if roles && rng.IntN(2) == 0 {
			tree = topologytest.Roles(t, tree, rng)
		}
		begin := time.Now()
		p, err := plan.Build(tree, plan.Options{Engines: engines.Trees(), Schedule: schedules.FORS})
		took += time.Since(begin)
		expect.Must(t, err)
		expect.Must(t, p.Judge(), "%s without %v", tree.Notation(), tree.DownNames())
		y.trees++
		if p.Gap() > 0 {
			y.above++
		}
		if p.Gap() > 1 {
			y.far++
		}
	}
	return took
}

func TestCablesAtTheBound(t *testing.T) {
	t.Parallel()
	var y tally
	y.plans(t, rand.New(rand.NewPCG(31, 2)), 100, 8, 8, true)
	expect.True(t, y.above <= 0 && y.far <= 0, "%+v: plans are above their bounds", y)
}

// BenchmarkCables plans for 1,000 random trees of up to 18 servers on up to 20 leaves, of two or
// three cables to each spine, up to half of them dead, half of the trees with readers and builders, and has all plans judged.
func BenchmarkCables(b *testing.B) {
	for b.Loop() {
		var y tally
		took := y.plans(b, rand.New(rand.NewPCG(31, 3)), 1000, 18, 20, true)
		b.ReportMetric(float64(y.trees), "trees")
		b.ReportMetric(100-100*float64(y.above)/float64(y.trees), "%at-bound")
		b.ReportMetric(float64(y.far), "above+1")
		b.ReportMetric(took.Seconds()*1e3/float64(y.trees), "ms/plan")
	}
}

// Plans under all routings are written, judged and read back, path by path.
func TestCablesRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 4))
	for range 4 {
		tree := topologytest.Cables(t, rng, 5, 5, max(1, 5/2))
		for _, name := range plan.Routings(engines.Trees()) {
			p, err := plan.Build(tree, plan.Options{Engines: engines.Trees(), Schedule: schedules.FORS, Routing: name})
			if (name == engines.DModK || name == engines.FtreeToOpenSMMinHop) && err != nil {
				continue // of whole trees; of those that ftree takes
			}
			if err != nil {
				t.Errorf("%s on %s without %v: %v", name, tree.Notation(), tree.DownNames(), err)
				continue
			}
			r := judged(t, p)
			expect.True(t, r.Paths == nil && name != routing.Pinned || r.Paths != nil && *r.Paths == p.Paths, "%s: paths %+v, counted %+v", name, p.Paths, r.Paths)
			if cost := p.Cost(plan.Equal, 0); name == routing.Pinned && cost.Duration != float64(p.Phases()) {
				t.Errorf("duration %g of %d phases without contention", cost.Duration, p.Phases())
			}
		}
	}
}

// What is wrong with cables in a plan is an offence, or an error, that names it.
func TestCablesJudged(t *testing.T) {
	tree := topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 2, Spines: 2, Cables: 2}, "leaf0-spine1/1")
	p := expect.Value(plan.Build(tree, plan.Options{Engines: engines.Trees(), Schedule: schedules.FORS}))(t)
	var file bytes.Buffer
	expect.Must(t, p.WriteText(&file))
	lines := strings.Split(file.String(), "\n")
	first := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "0 0 ") })
	f := strings.Fields(lines[first])
	for _, c := range []struct {
		path, want string
		kind       judge.Kind
	}{
		{"0", "server0 on leaf0 sends to server" + f[2] + " on leaf1 through spine0 and no cable", judge.MissingCable},
		{"0.2.0", "over cable 2 of spine0; there are 0..1", judge.NoSuchCable},
		{"1.1.0", "over leaf0-spine1/1, which is dead", judge.DeadLink},
		{"2.0.0", "through spine2; there are spine0..spine1", judge.NoSuchSpine},
		{"-", "through no spine", judge.MissingSpine},
		{"0.1", "one cable; a path is spine.up.down", ""},
		{"0.1.x", "cable is not a number", ""},
		{"0.1.200", "cable is larger than 127", ""},
	} {
		lines[first] = strings.Join(append(f[:3:3], c.path), " ")
		v, err := judge.Read(strings.NewReader(strings.Join(lines, "\n")))
		if c.kind == "" {
			expect.True(t, err != nil && strings.Contains(err.Error(), c.want), "%s: error %v, want %s", c.path, err, c.want)
			continue
		}
		expect.Must(t, err)
		r := judge.Check(v, judge.Options{Bound: true})
		expect.True(t, r.Counts[c.kind] == 1 && strings.Contains(fmt.Sprint(r.Offences), c.want),
			"%s: offences %v %v, want %s", c.path, r.Counts, r.Offences, c.want)
	}
}

// A cable that is dead in the network now is an offence, by the network's name, though another to the same spine is alive.
func TestCableDeadNow(t *testing.T) {
	o := topology.Options{Ports: 2, Leaves: 2, Spines: 1, Cables: 2}
	file := "# evbench plan 1\n# topology PGFT(2;2,2;1,1;1,2)\n# fill 2,2\n# down none\n# schedule x\n0 0 2 0.0.0\n0 1 3 0.1.1\n"
	f := expect.Value(judge.Read(strings.NewReader(file)))(t)
	live := topologytest.Tree(t, o, "leaf1-spine0/1").Named(&topology.Names{Switches: []string{"a", "b", "c"}})
	r := judge.Check(f, judge.Options{Live: live})
	expect.True(t, r.Counts[judge.DeadLink] == 1 && strings.Contains(fmt.Sprint(r.Offences), "over b-c/1, which is dead"), "%v", r.Offences)
	expect.Equal(t, judge.Check(f, judge.Options{}).Counts[judge.DeadLink], 0, "dead links of the file")
}

// Two messages of a phase may share a spine but not a cable.
func TestCablesContention(t *testing.T) {
	const head = "# evbench plan 1\n# topology PGFT(2;2,2;1,1;1,2)\n# fill 2,2\n# down none\n# schedule x\n"
	for body, want := range map[string]int{
		"0 0 2 0.0.0\n0 1 3 0.1.1\n": 0, "0 0 2 0.0.1\n0 1 3 0.1.0\n": 0,
		"0 0 2 0.0.0\n0 1 3 0.0.1\n": 1, "0 0 2 0.0.1\n0 1 3 0.1.1\n": 1, "0 0 2 0.1.1\n0 1 3 0.1.1\n": 2,
	} {
		f := expect.Value(judge.Read(strings.NewReader(head + body)))(t)
		r := judge.Check(f, judge.Options{})
		expect.True(t, r.Counts[judge.Contention] == want, "%q: %v, want %d cables with two messages", body, r.Offences, want)
	}
}

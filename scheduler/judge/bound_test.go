package judge_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"evbench/scheduler/judge"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

func optionsOf(m0, m1 int) topology.Options { return topology.Options{Ports: m0, Leaves: m1} }

type weight struct {
	link, direction string
	weight          int64
}

// lp writes a plan without messages that states a bound by weights.
func lp(tr *topology.Tree, phases int, weights []weight) string {
	return (&draft{tree: tr}).lp(phases, weights)
}

func (d *draft) lp(phases int, weights []weight) string {
	list := make([]string, len(weights))
	for i, w := range weights {
		list[i] = fmt.Sprintf("%s/%s=%d", w.link, w.direction, w.weight)
	}
	d.routing, d.hash = "pinned", "none"
	d.bound = fmt.Sprintf("%d lp %s", phases, strings.Join(list, ","))
	return d.text()
}

// wrong returns the sentence on the stated bound, or "".
func wrong(t testing.TB, text string) string {
	t.Helper()
	for _, o := range judged(t, text, judge.Options{Bound: true, First: 1 << 20}).Offences {
		if o.Kind == judge.WrongBound {
			return o.Text
		}
	}
	return ""
}

// Two examples where the bound is more than any leaf's.
func TestWeightsProveTheExamples(t *testing.T) {
	small := topologytest.Without(t, optionsOf(3, 3), topology.Link{}, topology.Link{Leaf: 1, Spine: 1}, topology.Link{Leaf: 2, Spine: 1})
	dead := []topology.Link{{}}
	var up []weight
	for l := 1; l < 18; l++ {
		dead = append(dead, topology.Link{Leaf: l, Spine: 1})
	}
	for k := 2; k < 20; k++ {
		up = append(up, weight{fmt.Sprintf("leaf0-spine%d", k), "up", 7})
	}
	for _, tt := range []struct {
		name    string
		tree    *topology.Tree
		phases  int
		weights []weight
		want    string
	}{
		{"FT(2;3,3)", small, 18, []weight{{"leaf0-spine2", "up", 1}}, ""},
		{"FT(2;3,3), the other direction", small, 18, []weight{{"leaf0-spine2", "down", 5}}, ""},
		{"FT(2;20,18)", topologytest.Without(t, optionsOf(20, 18), dead...), 378, up, ""},
		{"one phase too many", small, 19, []weight{{"leaf0-spine2", "up", 1}}, "the file states bound 19 by lp, which proves 18"},
		{"one phase too few", small, 17, []weight{{"leaf0-spine2", "up", 1}}, "the file states bound 17 by lp, which proves 18"},
		{"useless weights", small, 18, []weight{{"leaf0-spine1", "up", 1}}, "the file states bound 18 by lp, which proves 0"},
		{"weights of 0", small, 18, []weight{{"leaf0-spine2", "up", 0}}, "bound 18 lp: its weights sum to 0, which proves nothing"},
		{"cut off", topologytest.Without(t, optionsOf(1, 2), topology.Link{}), 1, []weight{{"leaf1-spine0", "up", 1}}, "bound 1 lp: leaf0 and leaf1 share no live spine"},
	} {
		expect.Equal(t, wrong(t, lp(tt.tree, tt.phases, tt.weights)), tt.want, "%s", tt.name)
	}
}

// Weights near the largest do not overflow: the bound is that of any
// equal weights.
func TestWeightsAreExact(t *testing.T) {
	tr := topologytest.Without(t, optionsOf(4, 3))
	var ws []weight
	for l := range 3 {
		for k := range 4 {
			ws = append(ws, weight{fmt.Sprintf("leaf%d-spine%d", l, k), "up", 1<<62 - 1})
		}
	}
	// 6 pairs · 16 messages · w / (12 w)
	expect.Equal(t, wrong(t, lp(tr, 8, ws)), "", "wrong")
}

// Whatever the weights, they prove what a second computation in fractions says,
// and never more than the phases of a plan that exists.
func TestRandomWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		m0, m1 := 1+rng.IntN(4), 2+rng.IntN(3)
		dead := expect.Value(topologytest.Without(t, optionsOf(m0, m1)).Random(rng.IntN(min(m0, 3)), rng.Uint64()))(t)
		o := optionsOf(m0, m1)
		o.Fill = make([]int, m1)
		for l := range o.Fill {
			o.Fill[l] = rng.IntN(m0 + 1)
		}
		o.Fill[0], o.Fill[1] = max(1, o.Fill[0]), max(1, o.Fill[1])
		tr := topologytest.Without(t, o, dead...)
		ws, phases := randomWeights(&tr.Live, rng)
		if phases < 1 {
			continue // no bound to state
		}
		got := wrong(t, lp(tr, phases, ws))
		expect.MustTrue(t, got == "", "%s fill %v down %v weights %v: %s", tr.Notation(), o.Fill, tr.DownNames(), ws, got)
		expect.MustTrue(t, wrong(t, lp(tr, phases+1, ws)) != "", "%s: a bound of %d is taken, %d is proven", tr.Notation(), phases+1, phases)
		d := greedy("dead", tr)
		expect.MustTrue(t, d.phases >= phases, "%s: a plan of %d phases, but weights prove %d", tr.Notation(), d.phases, phases)
	}
}

// randomWeights returns weights and what they prove, by fractions.
func randomWeights(tr *topology.Live, rng *rand.Rand) (ws []weight, phases int) {
	y, sum, load := map[string]int64{}, int64(1), new(big.Rat)
	first := topology.Link{Leaf: 0, Spine: tr.AliveSpines(0)[0]}.String()
	ws = []weight{{first, "up", 1}}
	y[first+" up"] = 1
	for l := range tr.Leaves() {
		for k := range tr.Spines() {
			for _, direction := range []string{"up", "down"} {
				name := topology.Link{Leaf: l, Spine: k}.String()
				if w := rng.Int64N(4); w > 0 && tr.Alive(l, k) && y[name+" "+direction] == 0 {
					y[name+" "+direction] = w
					sum += w
					ws = append(ws, weight{name, direction, w})
				}
			}
		}
	}
	for a := range tr.Leaves() {
		for b := range tr.Leaves() {
			if a == b {
				continue
			}
			least := int64(1 << 40)
			for _, k := range tr.CommonSpines(a, b) {
				least = min(least, y[fmt.Sprintf("leaf%d-spine%d up", a, k)]+y[fmt.Sprintf("leaf%d-spine%d down", b, k)])
			}
			load.Add(load, big.NewRat(int64(tr.ServersOn(a)*tr.ServersOn(b))*least, sum))
		}
	}
	for big.NewRat(int64(phases), 1).Cmp(load) < 0 {
		phases++
	}
	return ws, phases
}

// That a file states no weights is not an offence.
func TestBoundWithoutWeights(t *testing.T) {
	d := shift(t, 2, 2)
	d.bound = "3 lp"
	r := judged(t, d.text(), judge.Options{Bound: true})
	expect.True(t, r.Valid && len(r.Notes) == 1 && strings.Contains(r.Notes[0], "the file states no weights"), "%+v", r)
	d.bound = ""
	r = judged(t, d.text(), judge.Options{Bound: true})
	expect.True(t, r.Valid && len(r.Notes) == 1 && r.Notes[0] == "bound not checked: the file states none", "%+v", r)
}

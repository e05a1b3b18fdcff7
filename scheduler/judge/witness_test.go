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

// A forged witness of every kind is refused with its reason, a true one is not.
func TestForgedWitnesses(t *testing.T) {
	// leaf0 reaches leaf1 and leaf2 through spine2 alone: 3 servers to 6.
	two := "# evbench plan 1\n# topology FT(2;3,3)\n# down leaf0-spine0,leaf1-spine1,leaf2-spine1\n"
	three := "# evbench plan 1\n# topology FT(3;2,2,2)\n# down pod1-spine0-top0,pod1-spine0-top1,pod1-spine1-top1\n"
	apart := "# evbench plan 1\n# topology FT(2;1,4)\n# down leaf0-spine0\n"
	for _, tt := range []struct{ header, bound, want string }{
		{two, "18 hall0 leaf1,leaf2", ""},
		{two, "9 hall0 leaf1", ""},
		{two, "9 hall1 leaf0", ""},
		{two, "8 server", ""},
		{two, "9 leaf0", ""},
		{two, "19 hall0 leaf1,leaf2", "the file states bound 19 by hall0, which proves 18"},
		{two, "17 hall0 leaf1,leaf2", "the file states bound 17 by hall0, which proves 18"},
		{two, "18 hall1 leaf0,leaf2", "the file states bound 18 by hall1, which proves 9"},
		{two, "18 hall0 leaf1", "the file states bound 18 by hall0, which proves 9"},
		{two, "18 hall0 leaf0,leaf1,leaf2", "bound 18 hall0: its set has leaf0 itself"},
		{two, "18 hall0 leaf1,leaf2,leaf1", "bound 18 hall0: its set has leaf1 twice"},
		{two, "18 hall0 leaf1,leaf3", "bound 18 hall0: its set has leaf3; there are leaf0..leaf2"},
		{two, "18 hall3 leaf1,leaf2", "bound 18 hall3: no leaf3"},
		{two, "18 hall0", "bound 18 hall0: it names no set of leaves"},
		{two, "18 leaf0", "the file states bound 18 by leaf0, which proves 9"},
		{two, "18 leaf7", "bound 18 leaf7: no leaf7"},
		{two, "18 server", "the file states bound 18 by server, which proves 8"},
		{three, "16 pod1", ""},
		{three, "17 pod1", "the file states bound 17 by pod1, which proves 16"},
		{three, "16 pod0", "the file states bound 16 by pod0, which proves 4"},
		{three, "16 pod2", "bound 16 pod2: no pod2"},
		{three, "6 hall0 leaf1,leaf2,leaf3", ""}, // planes are spines
		{apart, "3 leaf0", "bound 3 leaf0: leaf0 has no live link"},
		{apart, "3 hall1 leaf0", "bound 3 hall1: leaf1 to the set has no live link"},
	} {
		expect.Equal(t, wrong(t, tt.header+"# bound "+tt.bound+"\n"), tt.want, "%q", tt.bound)
	}
}

// So are forged weights, in either number of levels.
func TestForgedWeights(t *testing.T) {
	small := topologytest.Without(t, optionsOf(3, 3), topology.Link{}, topology.Link{Leaf: 1, Spine: 1}, topology.Link{Leaf: 2, Spine: 1})
	two := func(phases int, ws ...weight) string { return lp(small, phases, ws) }
	three := func(phases int, ws ...weight) string {
		p := topologytest.Tree(t, podOptions(2, 2, 2), "pod1-spine0-top0", "pod1-spine0-top1", "pod1-spine1-top1")
		return (&draft{tree: p}).lp(phases, ws)
	}
	up := func(link string, n int64) weight { return weight{link, "up", n} }
	for _, tt := range []struct{ name, text, want string }{
		{"true", two(18, up("leaf0-spine2", 3)), ""},
		{"inflated", two(19, up("leaf0-spine2", 3)), "the file states bound 19 by lp, which proves 18"},
		{"negative", two(18, up("leaf0-spine2", 3), up("leaf1-spine0", -2)), "bound 18 lp: leaf1-spine0 (up) has weight -2, which is negative"},
		{"huge", two(18, up("leaf0-spine2", 1<<62)), "bound 18 lp: leaf0-spine2 (up) has weight 4611686018427387904; at most 4611686018427387903 is judged"},
		{"on a dead wire", two(18, up("leaf0-spine2", 3), up("leaf0-spine0", 1)), "bound 18 lp: leaf0-spine0 (up) has a weight, but is dead"},
		{"nothing on a dead wire", two(18, up("leaf0-spine2", 3), up("leaf0-spine0", 0)), ""},
		{"not covering", two(18, up("leaf0-spine1", 3)), "the file states bound 18 by lp, which proves 0"},
		{"pods", three(16, up("pod1-spine1-top0", 1)), ""},
		{"pods, down", three(16, weight{"pod1-spine1-top0", "down", 1 << 61}), ""},
		{"pods, inflated", three(17, up("pod1-spine1-top0", 1)), "the file states bound 17 by lp, which proves 16"},
		{"pods, on a dead wire", three(16, up("pod1-spine1-top0", 1), up("pod1-spine0-top0", 1)), "bound 16 lp: pod1-spine0-top0 (up) has a weight, but is dead"},
		{"pods, not covering", three(16, up("pod0-spine0-top0", 1)), "the file states bound 16 by lp, which proves 0"},
	} {
		expect.Equal(t, wrong(t, tt.text), tt.want, "%s", tt.name)
	}
}

// Whatever the leaf and the set, a hall witness proves what sets of spines say,
// and never more than the phases of a plan that exists.
func TestRandomHalls(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for range 300 {
		d := greedy("cut", randomTree(t, rng))
		leaf := rng.IntN(d.tree.Leaves())
		spines, m, names := map[int]bool{}, 0, []string{}
		for _, b := range rng.Perm(d.tree.Leaves())[:1+rng.IntN(d.tree.Leaves()-1)] {
			if b == leaf {
				continue
			}
			names = append(names, fmt.Sprintf("leaf%d", b))
			for _, k := range d.tree.CommonSpines(leaf, b) {
				spines[k] = true
			}
			if !d.isCut(leaf, b) {
				m += d.tree.ServersOn(b)
			}
		}
		if m == 0 {
			continue
		}
		phases := (d.tree.ServersOn(leaf)*m + len(spines) - 1) / len(spines)
		expect.MustTrue(t, d.phases >= phases, "a plan of %d phases, but hall%d %v proves %d\n%s", d.phases, leaf, names, phases, d.text())
		for more := range 2 {
			d.bound = fmt.Sprintf("%d hall%d %s", phases+more, leaf, strings.Join(names, ","))
			got := wrong(t, d.text())
			expect.MustTrue(t, (got == "") == (more == 0), "%s: %q", d.bound, got)
		}
	}
}

// Whatever the weights on three levels, they prove what a second computation in
// fractions says over paths that are written out, and never more than the phases
// of a plan that exists.
func TestRandomWeightsOfPods(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	for range 150 {
		plans := podDrafts(t, 1+rng.IntN(3), 1+rng.IntN(2), 2+rng.IntN(2))
		d := plans[rng.IntN(len(plans))]
		if len(d.cut) > 0 {
			continue // lp does not list pairs
		}
		y, sum, ws := map[string]int64{}, int64(0), []weight(nil)
		for _, name := range liveLinks(&d.tree.Live) {
			for _, direction := range []string{"up", "down"} {
				if w := rng.Int64N(4); w > 0 {
					y[name+" "+direction], sum, ws = w, sum+w, append(ws, weight{name, direction, w})
				}
			}
		}
		phases := fractions(d, y, sum)
		if phases < 1 {
			continue
		}
		got := wrong(t, (&draft{tree: d.tree}).lp(phases, ws))
		expect.MustTrue(t, got == "", "%s down %v weights %v: %s", d.tree.Notation(), d.tree.DownNames(), ws, got)
		expect.MustTrue(t, wrong(t, (&draft{tree: d.tree}).lp(phases+1, ws)) != "" && d.phases >= phases,
			"%s: %d is proven; a bound of one more is taken, or a plan of %d phases exists", d.tree.Notation(), phases, d.phases)
	}
}

func liveLinks(p *topology.Live) (out []string) {
	for id := range p.AllLinks() {
		if l := p.LinkOf(id); p.LinkAlive(l) {
			out = append(out, l.String())
		}
	}
	return out
}

func fractions(d *draft, y map[string]int64, sum int64) (phases int) {
	load := new(big.Rat)
	for a := range d.tree.Leaves() {
		for b := range d.tree.Leaves() {
			if a == b || sum == 0 {
				continue
			}
			least := int64(1 << 40)
			for _, path := range d.paths(a, b) {
				w := y[fmt.Sprintf("leaf%d-spine%d up", a, path[0])] + y[fmt.Sprintf("leaf%d-spine%d down", b, path[0])]
				if path[1] >= 0 {
					w += y[fmt.Sprintf("pod%d-spine%d-top%d up", d.tree.Pod(a), path[0], path[1])]
					w += y[fmt.Sprintf("pod%d-spine%d-top%d down", d.tree.Pod(b), path[0], path[1])]
				}
				least = min(least, w)
			}
			load.Add(load, big.NewRat(int64(d.tree.ServersOn(a)*d.tree.ServersOn(b))*least, sum))
		}
	}
	for big.NewRat(int64(phases), 1).Cmp(load) < 0 {
		phases++
	}
	return phases
}

// What the report says about the bound, and when a plan is optimal.
func TestBoundReport(t *testing.T) {
	best, slow := shift(t, 2, 2), late(t, 2, 2)
	for _, tt := range []struct {
		name    string
		d       *draft
		opt     judge.Options
		want    *judge.BoundReport
		optimal bool
	}{
		{"proven", best, judge.Options{Bound: true}, &judge.BoundReport{Value: 3, Kind: "server", Proven: true}, true},
		{"not asked", best, judge.Options{}, &judge.BoundReport{Value: 3, Kind: "server"}, false},
		{"contention allowed", best, judge.Options{Bound: true, AllowContention: true}, &judge.BoundReport{Value: 3, Kind: "server", Proven: true}, false},
		{"a phase more", slow, judge.Options{Bound: true}, &judge.BoundReport{Value: 3, Kind: "server", Proven: true, Gap: 1}, false},
	} {
		r := judged(t, tt.d.text(), tt.opt)
		expect.False(t, !r.Valid || r.Bound == nil || *r.Bound != *tt.want || r.Optimal() != tt.optimal, "%s: %+v of %+v, optimal %v", tt.name, r.Bound, r, r.Optimal())
	}
	forged := best.clone()
	forged.bound = "3 leaf0"
	if r := judged(t, forged.text(), judge.Options{Bound: true}); r.Valid || r.Bound.Proven || r.Optimal() {
		t.Errorf("forged: %+v", r)
	}
	none := best.clone()
	none.bound = ""
	if r := judged(t, none.text(), judge.Options{Bound: true}); r.Bound != nil || r.Optimal() {
		t.Errorf("none: %+v", r.Bound)
	}
}

// The addresses that the spines of a plan take are counted as a second, obvious
// count does, and a wrong statement is an offence.
func TestPaths(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for range 100 {
		plans := drafts(t, 1+rng.IntN(5), 1+rng.IntN(4)+1)
		d := plans[rng.IntN(len(plans))].clone()
		scramble(d, rng)
		used := map[string]map[int]bool{}
		most := 0
		for _, m := range d.messages {
			_, isSrc := d.tree.Rank(m[1])
			_, isDst := d.tree.Rank(m[2])
			if !isSrc || !isDst || d.inside(m) || m[3] < 0 || m[3] >= d.tree.Spines() {
				continue
			}
			key := fmt.Sprint(d.leaf(m[1]), " ", m[2])
			if used[key] == nil {
				used[key] = map[int]bool{}
			}
			used[key][m[3]] = true
			most = max(most, len(used[key]))
		}
		lmc := 0
		for 1<<lmc < most {
			lmc++
		}
		lids := d.tree.Servers()*(1<<lmc) + d.tree.Leaves() + d.tree.Spines()
		want := topology.Paths{Most: most, LMC: lmc, LIDs: lids, Entries: lids - 1}
		r := judged(t, d.text(), judge.Options{})
		expect.MustTrue(t, r.Paths != nil && *r.Paths == want, "%+v, want %+v\n%s", r.Paths, want, d.text())
	}
}

// Thesis 6.7.2: 326 servers that are reached by more than 16 spines have 32
// addresses each, 32·326 + 37 entries in the table of a switch.
//
//gate:race
func TestPathsOfTheThesis(t *testing.T) {
	text := "# evbench plan 1\n# topology FT(2;20,18)\n# fill 19,19,18,18,18,18,18,18,18,18,18,18,18,18,18,18,18,18\n"
	for k := range 17 {
		text += fmt.Sprintf("%d %d 20 %d\n", k, k, k)
	}
	want := topology.Paths{Most: 17, LMC: 5, LIDs: 10470, Entries: 10469}
	r := judged(t, text, judge.Options{})
	expect.True(t, *r.Paths == want, "%+v, want %+v", r.Paths, want)
}

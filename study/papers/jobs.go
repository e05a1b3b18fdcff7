package papers

import (
	"fmt"
	"strings"

	"evbench/study/jobs"
	"evbench/topology/network"
)

// The example of the slides is a fat tree with full bisection and 180 nodes, and three jobs of
// 60. They do not say which tree, nor where the jobs are.
const (
	jobsTree   = "FT(2;20,9)"
	jobsLeaf   = 20 // hosts of a leaf
	jobsLeaves = 9
)

// leafFilled is a placement with the maximum that the slides have before, the hosts of jobs A,
// B and C: A fills the first leaf and has the first five places of the others, whose rest B
// and C share.
func leafFilled() [][]int32 {
	hosts := make([][]int32, 3)
	for h := range int32(jobsLeaf * jobsLeaves) {
		job, leaf, place := 2, h/jobsLeaf, h%jobsLeaf
		switch {
		case leaf == 0 || place < 5:
			job = 0
		case place < 12 || place == 12 && leaf <= 4:
			job = 1
		}
		hosts[job] = append(hosts[job], h)
	}
	return hosts
}

func leafFilledJobs() []jobs.Job {
	list := []jobs.Job{{ID: "A"}, {ID: "B"}, {ID: "C"}}
	for job, hosts := range leafFilled() {
		for _, h := range hosts {
			list[job].Nodes = append(list[job].Nodes, fmt.Sprintf("h%d", h))
		}
	}
	return list
}

// jobsEFI works out the edge forwarding index of jobs as the slides do, and which step of
// their algorithm does what.
func jobsEFI(w *work) {
	n := must(network.Parse(jobsTree, 0))
	draws := w.draws(100, 10)
	w.Setup = []string{
		fmt.Sprintf("%s, 180 hosts, three jobs of 60; routes between hosts of a job on the cable between switches that has most, in one direction", jobsTree),
		"a leaf filled: one job has all hosts of a leaf and the first five of each other leaf, the others share the rest; random: " + fmt.Sprintf("%d placements", draws),
		"sssp looks at no job (tables of OpenSM's sssp and dfsssp); sar-published is Algorithm 1 as printed; sar adds a look ahead; " +
			"without: what is left out of sar, so that sar-published is sar without look-ahead",
		"to a leaf: share of placements whose cable with most routes leads down to a leaf; spread: cables to its leaf over which the " +
			"routes to a host come; details (CSV): routes on each cable, a leaf filled",
	}
	r := jobs.NewRouted(jobsTree)
	must(r.Route(n, r.Place(n, leafFilledJobs(), new(jobs.Classes)), 0))
	for _, l := range r.Routings {
		w.add(l.Routing, 0, "a leaf filled", "routes", float64(l.Max))
	}
	for _, l := range r.Routings {
		w.add(l.Routing, 1, "unused there", "cables", float64(l.Unused))
	}
	w.tell("%d random placements", draws)
	d := must(jobs.DrawPlacements(w, n, []int{60, 60, 60}, w.Seed, draws, jobs.AllWays))
	for x, of := range []struct {
		label, unit string
		values      func(jobs.Distribution) []float64
	}{
		{"random", "routes", func(d jobs.Distribution) (most []float64) {
			for _, m := range d.Max {
				most = append(most, float64(m))
			}
			return most
		}},
		{"to a leaf", "%", func(d jobs.Distribution) []float64 { return []float64{100 * float64(d.ToLeaf) / float64(draws)} }},
		{"spread", "cables", func(d jobs.Distribution) []float64 { return []float64{d.Spread} }},
	} {
		for _, way := range d.Routings {
			w.add(strings.TrimPrefix(way.Routing, "sar "), float64(2+x), of.label, of.unit, of.values(way)...)
		}
	}
	w.heat(r, r.Edges(n))
}

func (f *Figure) heat(r *jobs.Routed, edges []jobs.Edge) {
	for _, up := range []bool{true, false} {
		for i, l := range r.Routings {
			name, of := l.Routing+", down", func(e jobs.Edge) int64 { return e.Down[i] }
			if up {
				name, of = l.Routing+", up", func(e jobs.Edge) int64 { return e.Up[i] }
			}
			for k, e := range edges {
				f.add(name, float64(k), e.Low+"-"+e.High, "routes", float64(of(e))).Detail = true
			}
		}
	}
}

package papers

import (
	"fmt"
	"slices"

	"evbench/plan"
	"evbench/topology"
)

type failureCase struct {
	label  string
	count  int   // links that each of leaves has lost
	leaves []int // by thesis: SW0, SW5, SW11
	spines []int // wholly lost: SW18 is spine0
}

var failureCases = []failureCase{
	{"0F", 0, nil, nil},
	{"1F SW0", 1, []int{0}, nil},
	{"2F SW0", 2, []int{0}, nil},
	{"3F SW0", 3, []int{0}, nil},
	{"1F SW0,5,11", 1, []int{0, 5, 11}, nil},
	{"2F SW0,5,11", 2, []int{0, 5, 11}, nil},
	{"3F SW0,5,11", 3, []int{0, 5, 11}, nil},
	{"SW18,19", 0, nil, []int{0, 1}},
	{"SW18,19,22,23", 0, nil, []int{0, 1, 4, 5}},
}

func (c failureCase) drawn() bool { return c.leaves != nil }

// dead returns the tree of a draw: the leaves lose links to different spines. The
// first draw takes them in order, as the example of thesis 6.6.1 does.
func (c failureCase) dead(t *topology.Tree, draw int, seed uint64) *topology.Tree {
	order := shuffled(t.Spines(), seed, uint64(draw))
	if draw == 0 {
		slices.Sort(order)
	}
	var links []topology.Link
	for i, l := range c.leaves {
		for _, k := range order[i*c.count : (i+1)*c.count] {
			links = append(links, topology.Link{Leaf: l, Spine: k})
		}
	}
	for _, k := range c.spines {
		for l := range t.Leaves() {
			links = append(links, topology.Link{Leaf: l, Spine: k})
		}
	}
	return must(t.Without(links...))
}

var scenarioSeries = []string{"synchronised, Ftree/Min-Hop", "non-synchronised, Ftree/Min-Hop", "FORS", "FORS, non-synchronised"}

func scenarios(w *work) {
	draws := w.draws(10, 1)
	w.Setup = []string{
		"FT(2;20,18), all 360 ports; SW0..17 are leaf0..17, SW18..37 spine0..19; Gbit/s of a server; totals of 326 in Tbit/s",
		fmt.Sprintf("random spines drawn %d times, in order the first time; Ftree without failures and without whole spines, else Min-Hop after it", draws),
		fillNote,
		"without phases FORS keeps the path of each pair; if quick, 326 servers with phases only",
		creditNote + "; first draw only", adaptiveNote,
	}
	for _, x := range fills {
		n := newRoutedTree(topology.Options{Ports: 20, Leaves: 18, Fill: x.fill})
		for i, c := range failureCases {
			w.tell("%s%s", c.label, x.suffix)
			w.scenario(n, i, draws, x.suffix)
			if !w.Quick && x.fill != nil {
				w.creditScenario(n, i, x.suffix)
			}
		}
	}
}

func (w *work) scenario(n *routedTree, index, draws int, suffix string) {
	c := failureCases[index]
	if !c.drawn() {
		draws = 1
	}
	skip := w.Quick && suffix != "" // rates without phases
	values := table(w, draws, func(i int) (rates []float64) {
		t := c.dead(n.tree, i, w.Seed)
		for _, p := range []*plan.Plan{n.current(t), fors(t, w.Seed)} {
			rates = append(rates, synchronised(w, p))
			if !skip {
				rates = append(rates, unsynchronised(w, p))
			}
		}
		return rates
	})
	series := scenarioSeries
	if skip {
		series = []string{series[0], series[2]}
	}
	for i, name := range series {
		r := w.add(name+suffix, float64(index), c.label, gbit, values[i]...)
		if suffix == "" {
			w.add(name+", total", float64(index), c.label, tbit, total(r.Value(Mean)))
		}
	}
}

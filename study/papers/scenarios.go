package papers

import (
	"context"
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
func (c failureCase) dead(t *topology.Tree, draw int, seed uint64) (*topology.Tree, error) {
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
	return t.Without(links...)
}

var scenarioSeries = []string{"synchronised, Ftree/Min-Hop", "non-synchronised, Ftree/Min-Hop", "FORS", "FORS, non-synchronised"}

func scenarios(ctx context.Context, o *Options, f *Figure) error {
	draws := o.draws(10, 1)
	f.Setup = []string{
		"FT(2;20,18), all 360 ports; SW0..17 are leaf0..17, SW18..37 spine0..19; Gbit/s of a server; totals of 326 in Tbit/s",
		fmt.Sprintf("random spines drawn %d times, in order the first time; Ftree without failures and without whole spines, else Min-Hop after it", draws),
		fillNote,
		"without phases FORS keeps the path of each pair; if quick, 326 servers with phases only",
		creditNote + "; first draw only", adaptiveNote,
	}
	for _, x := range fills {
		n, err := newRoutedTree(topology.Options{Ports: 20, Leaves: 18, Fill: x.fill})
		if err != nil {
			return err
		}
		for i, c := range failureCases {
			o.tell(f.Name, "%s%s", c.label, x.suffix)
			if err := n.scenario(ctx, f, i, draws, o, x.suffix); err != nil {
				return fmt.Errorf("%s%s: %w", c.label, x.suffix, err)
			}
			if o.Quick || x.fill == nil {
				continue
			}
			if err := n.creditScenario(ctx, f, i, o, x.suffix); err != nil {
				return fmt.Errorf("%s%s, credit: %w", c.label, x.suffix, err)
			}
		}
	}
	return nil
}

func (n *routedTree) scenario(ctx context.Context, f *Figure, index, draws int, o *Options, suffix string) error {
	c := failureCases[index]
	if !c.drawn() {
		draws = 1
	}
	skip := o.Quick && suffix != ""
	values := make([][]float64, len(scenarioSeries))
	for i := range values {
		values[i] = make([]float64, draws)
	}
	err := each(ctx, draws, func(i int) error {
		t, err := c.dead(n.tree, i, o.Seed)
		if err != nil {
			return err
		}
		rates, err := n.four(ctx, t, o.Seed, skip)
		for k, r := range rates {
			values[k][i] = r
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, series := range scenarioSeries {
		if skip && i%2 == 1 {
			continue
		}
		r := f.add(series+suffix, float64(index), c.label, gbit, values[i]...)
		if suffix == "" {
			f.add(series+", total", float64(index), c.label, tbit, total(r.Value(Mean)))
		}
	}
	return nil
}

// four returns the rates of the scenarioSeries, those with phases alone if it has to
// skip the others.
func (n *routedTree) four(ctx context.Context, t *topology.Tree, seed uint64, skip bool) (out [4]float64, err error) {
	now, err := n.current(t)
	if err != nil {
		return out, err
	}
	adapted, err := fors(t, seed)
	if err != nil {
		return out, err
	}
	for k, p := range []*plan.Plan{now, adapted} {
		if out[2*k], err = synchronised(ctx, p); err != nil {
			return out, err
		}
		if skip {
			continue
		}
		if out[2*k+1], err = unsynchronised(ctx, p); err != nil {
			return out, err
		}
	}
	return out, nil
}

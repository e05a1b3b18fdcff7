package survey

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"evbench/plan"
	"evbench/routing/twolevel"
	"evbench/scheduler"
	"evbench/topology"
)

// What the thesis says about times, and where.
const (
	publishedFORS   = "29.72 s mean, 27.40–37.55 (thesis 6.6.3)"
	publishedRepair = "148.69 s mean of 10 (thesis 5.5)"
	publishedLMC    = "LMC 5; the program for the least did not finish (thesis 6.6.2, 6.7.2)"
	publishedLHCb   = "360, 378, 400 phases at reduction 1, 2, 3, full leaves (thesis equation 5.1)"
)

// The two fills with 326 servers on FT(2;20,18); that of LHCb is not published.
var (
	lhcbA = slices.Concat(slices.Repeat([]int{19}, 2), slices.Repeat([]int{18}, 16))
	lhcbB = slices.Concat(slices.Repeat([]int{20}, 12), slices.Repeat([]int{15}, 2), slices.Repeat([]int{14}, 4))
)

// list fills the rows. Seeds are fixed: the same work each time.
func (p *planner) list() error {
	many, some, few := 1000, 100, 10
	if p.Quick {
		many, some, few = 40, 10, 3
	}
	lhcb := topology.Options{Ports: 20, Leaves: 18}
	for _, step := range []func() error{
		func() error { return p.random("FT(2;20,18), 0..180 random dead links", publishedFORS, lhcb, 180, many) },
		func() error { return p.reduced(lhcb) },
		func() error { return p.lmc(lhcb, scheduler.FewestPaths) },
		func() error { return p.lmc(lhcb, scheduler.Balanced) },
		func() error {
			return p.random("lhcb-a (326 servers), 0..36 dead", publishedLHCb, filled(lhcbA), 36, some)
		},
		func() error {
			return p.random("lhcb-b (326 servers), 0..36 dead", publishedLHCb, filled(lhcbB), 36, some)
		},
		func() error {
			return p.random("FT(2;36,36), 0..40 dead", notStated, topology.Options{Ports: 36, Leaves: 36}, 40, some/2)
		},
		func() error {
			return p.random("FT(2;64,64), 0..10 dead", notStated, topology.Options{Ports: 64, Leaves: 64}, 10, few)
		},
		func() error { return p.judges(lhcb) },
		func() error { return p.judges(topology.Options{Ports: 36, Leaves: 36}) },
		func() error { return p.judges(topology.Options{Ports: 64, Leaves: 64}) },
		func() error { return p.threeLevels(some) },
		func() error { return p.figure513(lhcb) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func filled(fill []int) topology.Options {
	return topology.Options{Ports: 20, Leaves: 18, Fill: fill}
}

// build is a trial that plans as the plan command does.
func build(label string, t *topology.Tree, schedule string, seed uint64) trial {
	return trial{label: label, tree: t, plan: func() (*plan.Plan, error) {
		return plan.Build(t, plan.Options{Schedule: schedule, Seed: seed})
	}}
}

// random adds n plans of fors with 0..most random dead links, evenly spread.
func (p *planner) random(name, published string, o topology.Options, most, n int) error {
	w := work{name: name, published: published, measure: (*planner).planning}
	for i := range n {
		dead := most * i / max(1, n-1)
		t, err := withRandom(o, dead, uint64(i+1))
		if err != nil {
			return err
		}
		w.trials = append(w.trials, build(fmt.Sprintf("%d dead, seed %d", dead, i+1), t, scheduler.NameFORS, 1))
	}
	p.rows = append(p.rows, w)
	return nil
}

func withRandom(o topology.Options, dead int, seed uint64) (*topology.Tree, error) {
	t, err := topology.New(o)
	if err != nil {
		return nil, err
	}
	links, err := t.Random(dead, seed)
	if err != nil {
		return nil, err
	}
	return t.Without(links...)
}

// reduced adds the repair of bandwidth-optimal at reduction 8.
func (p *planner) reduced(o topology.Options) error {
	healthy, err := topology.New(o)
	if err != nil {
		return err
	}
	w := work{name: "FT(2;20,18), reduction 8 of all leaves, repair of bandwidth-optimal", published: publishedRepair, measure: (*planner).planning}
	t, err := Reduced(healthy, 8, true)
	if err != nil {
		return err
	}
	for seed := range uint64(10) {
		w.trials = append(w.trials, build(fmt.Sprintf("seed %d", seed+1), t, "repair:bandwidth-optimal", seed+1))
	}
	p.rows = append(p.rows, w)
	return nil
}

// lmc adds an objective at reductions 0..5 of all leaves.
func (p *planner) lmc(o topology.Options, objective scheduler.Objective) error {
	healthy, err := topology.New(o)
	if err != nil {
		return err
	}
	w := work{name: fmt.Sprintf("FT(2;20,18), f = 0..5, objective %s", objective), published: publishedLMC, measure: (*planner).addresses}
	for f := range 6 {
		t, err := Reduced(healthy, f, true)
		if err != nil {
			return err
		}
		w.trials = append(w.trials, trial{label: fmt.Sprintf("f = %d", f), tree: t, text: true, plan: func() (*plan.Plan, error) {
			s, bound, err := scheduler.FORS(t, scheduler.Options{Seed: 1, Objective: objective})
			return &plan.Plan{Tree: t, Schedule: s, Routing: twolevel.Pinned, Bound: bound}, err
		}})
	}
	p.rows = append(p.rows, w)
	return nil
}

// judges adds the judge on a tree with a few dead links.
func (p *planner) judges(o topology.Options) error {
	t, err := withRandom(o, 9, 1)
	if err != nil {
		return err
	}
	p.rows = append(p.rows, work{
		name: fmt.Sprintf("judge of %d servers", t.Servers()), published: notStated, measure: (*planner).judging,
		trials: []trial{build("", t, scheduler.NameFORS, 1)},
	})
	return nil
}

// threeLevels adds FT(3;8,8,8) with 6 dead links between leaves and planes and 6
// between pods and top switches.
func (p *planner) threeLevels(n int) error {
	w := work{name: "FT(3;8,8,8), 512 servers, 6+6 dead links", published: notStated, measure: (*planner).planning}
	for i := range n {
		pods, err := mixed(uint64(i + 1))
		if err != nil {
			return err
		}
		w.trials = append(w.trials, trial{label: fmt.Sprintf("seed %d", i+1), plan: func() (*plan.Plan, error) {
			return plan.BuildPods(pods, plan.Options{Schedule: scheduler.NameFORS, Seed: 1})
		}})
	}
	p.rows = append(p.rows, w)
	return nil
}

func mixed(seed uint64) (*topology.Pods, error) {
	p, err := topology.NewPods(topology.Options{Ports: 8, Leaves: 64, Pods: 8})
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	var links []topology.Link
	var tops []topology.TopLink
	for _, i := range rng.Perm(64 * 8)[:6] {
		links = append(links, topology.Link{Leaf: i / 8, Spine: i % 8})
	}
	for _, i := range rng.Perm(8 * 8 * 8)[:6] {
		tops = append(tops, topology.TopLink{Pod: i / 64, Spine: i / 8 % 8, Top: i % 8})
	}
	return p.Without(links, tops)
}

// figure513 adds the repairs behind thesis Figure 5.13: for f = 1..10 ten draws of
// 1 to 3 leaves that lose the same f spines. The text states f = 8 only.
func (p *planner) figure513(o topology.Options) error {
	healthy, err := topology.New(o)
	if err != nil {
		return err
	}
	for f := 1; f <= 10; f++ {
		w := work{name: fmt.Sprintf("Fig 5.13: FT(2;20,18), %d spines lost by 1–3 leaves, repair", f), published: notStated, measure: (*planner).planning}
		if f == 8 {
			w.published = publishedRepair
		}
		for draw := range 10 {
			t, err := LeavesWithout(healthy, f, uint64(draw+1))
			if err != nil {
				return err
			}
			w.trials = append(w.trials, build(fmt.Sprintf("draw %d", draw+1), t, "repair:bandwidth-optimal", 1))
		}
		p.rows = append(p.rows, w)
	}
	return nil
}

// LeavesWithout takes the same f spines from one to three leaves, drawn by the seed.
func LeavesWithout(t *topology.Tree, f int, seed uint64) (*topology.Tree, error) {
	rng := rand.New(rand.NewPCG(seed, uint64(f)))
	leaves, spines := rng.Perm(t.Leaves())[:1+rng.IntN(3)], rng.Perm(t.Spines())[:f]
	var dead []topology.Link
	for _, l := range leaves {
		for _, k := range spines {
			dead = append(dead, topology.Link{Leaf: l, Spine: k})
		}
	}
	return t.Without(dead...)
}

// addresses plans as usual and adds the LMC of each plan to the note.
func (p *planner) addresses(w work, f *Figure) error {
	var lmc []int
	plans := slices.Clone(w.trials)
	for i, t := range plans {
		made := t.plan
		plans[i].plan = func() (*plan.Plan, error) {
			m, err := made()
			if err == nil {
				lmc = append(lmc, twolevel.CountPaths(m.Tree, m.Spine).LMC)
			}
			return m, err
		}
	}
	w.trials = plans
	if err := p.planning(w, f); err != nil {
		return err
	}
	f.Note += fmt.Sprintf(", LMC %v", lmc[1:]) // without the warm-up's
	return nil
}

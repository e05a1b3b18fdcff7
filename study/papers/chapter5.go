package papers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"evbench/plan"
	"evbench/routing"
	"evbench/scheduler"
	"evbench/study/survey"
	"evbench/topology"
)

func shuffled(n int, seed, stream uint64) []int {
	return rand.New(rand.NewPCG(seed, stream)).Perm(n)
}

func parse(notation string) (*topology.Tree, error) {
	o, err := topology.Parse(notation)
	if err != nil {
		return nil, err
	}
	return topology.New(o)
}

// slowdown is Figures 5.7 and 5.10 to 5.12: the title names the tree.
func slowdown(ctx context.Context, o *Options, f *Figure) error {
	notation := f.Title[strings.Index(f.Title, "FT("):]
	t, err := parse(notation)
	if err != nil {
		return err
	}
	f.Setup = []string{
		"reduction f: leaf0 has lost f links; LS linear shift, BO bandwidth-optimal, FS its repair (5.4.3), which has one message on a link in each phase",
		"FS / equation 5.1: phases of the repair over those that the equation gives; quick: at reductions 0, 1, 2 and half the links",
		"duration of a phase: messages of a leaf over its live links (Algorithm 2, rounded up as its text says); slowdown = duration / servers",
	}
	models := []struct{ name, suffix, adapted string }{{survey.Count, "", "FS"}}
	if !o.Quick {
		f.Setup = append(f.Setup, "routed: the same from link loads of plans: LS over min-hop, BO with a spine chosen for each message and phase, FORS; over servers - 1")
		models = append(models, struct{ name, suffix, adapted string }{survey.Routed, ", routed", "FORS"})
	}
	for _, model := range models {
		if err := ctx.Err(); err != nil {
			return err
		}
		o.tell(f.Name, "%s, model %s", notation, model.name)
		rows, err := survey.Slowdown(t, model.name, o.Seed)
		if err != nil {
			return err
		}
		rows = rows[:t.Ports()/2+1] // those after all reductions are of all leaves
		var repaired []int
		if f.Name != "fig5.7" && model.name == survey.Count {
			if repaired, err = repairs(ctx, t, len(rows), o); err != nil {
				return err
			}
		}
		for _, r := range rows {
			adapted := model.adapted
			switch {
			case f.Name == "fig5.7": // which is without
				adapted = ""
			case model.name == survey.Count && repaired[r.Reduction] == 0:
				adapted = ""
			case model.name == survey.Count:
				f.add("FS / equation 5.1", float64(r.Reduction), fmt.Sprint(r.Reduction), "", float64(repaired[r.Reduction])/float64(r.Phases))
				r.Adapted = repaired[r.Reduction]
			}
			f.slowdownRows(r, model.suffix, adapted)
		}
	}
	return nil
}

// repairs returns the phases of the fault-adaptive schedule, the repair of bandwidth-optimal
// (thesis 5.4.3, Algorithm 3; what was changed: see package scheduler), at reductions
// 0..n-1; 0 where it is left out.
func repairs(ctx context.Context, t *topology.Tree, n int, o *Options) ([]int, error) {
	phases := make([]int, n)
	wanted := o.points(n, 0, 1, 2, n-1)
	return phases, each(ctx, len(wanted), func(i int) error {
		reduced, err := survey.Reduced(t, wanted[i], false)
		if err != nil {
			return err
		}
		s, _, err := scheduler.ByName(scheduler.RepairPrefix+scheduler.NameBandwidthOptimal, reduced, scheduler.Options{Seed: o.Seed, Workers: 1})
		if err == nil {
			phases[wanted[i]] = s.Phases
		}
		return err
	})
}

func (f *Figure) slowdownRows(r survey.SlowdownRow, suffix, adapted string) {
	x, label := float64(r.Reduction), fmt.Sprint(r.Reduction)
	ls, bo, fs := float64(r.LinearShift), float64(r.BandwidthOptimal), float64(r.Adapted)
	ideal := float64(r.Ideal)
	f.add("LS"+suffix, x, label, "", ls/ideal)
	f.add("BO"+suffix, x, label, "", bo/ideal)
	f.add("LS/BO"+suffix, x, label, "", ls/bo)
	if adapted != "" {
		f.add(adapted+suffix, x, label, "", fs/ideal)
		f.add("LS/"+adapted+suffix, x, label, "", ls/fs)
		f.add("BO/"+adapted+suffix, x, label, "", bo/fs)
	}
}

var phaseTrees = []string{"FT(2;8,16)", "FT(2;16,16)", "FT(2;20,18)", "FT(2;16,32)", "FT(2;32,32)"}

func phaseFactor(ctx context.Context, o *Options, f *Figure) error {
	f.Setup = []string{
		"reduction f: every leaf has lost f links; factor = phases by equation 5.1 over those without failures",
		"FORS: phases of plans over those of the plan without failures; quick: at no, one and half the links lost, up to 360 servers",
	}
	for _, notation := range phaseTrees {
		t, err := parse(notation)
		if err != nil {
			return err
		}
		o.tell(f.Name, "%s", notation)
		if err := f.phaseRows(ctx, t, o); err != nil {
			return err
		}
	}
	return nil
}

func (f *Figure) phaseRows(ctx context.Context, t *topology.Tree, o *Options) error {
	half := t.Ports() / 2
	healthy := survey.FaultAdaptivePhases(t)
	base, err := planned(t, o.Seed)
	if err != nil {
		return err
	}
	for reduction := range t.Ports() {
		if err := ctx.Err(); err != nil {
			return err
		}
		reduced, err := survey.Reduced(t, reduction, true)
		if err != nil {
			return err
		}
		told := reduction <= 1 || reduction == half
		x, label := float64(reduction), fmt.Sprint(reduction)
		f.add(t.Notation(), x, label, "", float64(survey.FaultAdaptivePhases(reduced))/float64(healthy)).Detail = !told
		if reduction > half || o.Quick && (!told || t.Servers() > 360) {
			continue
		}
		phases, err := planned(reduced, o.Seed)
		if err != nil {
			return err
		}
		f.add(t.Notation()+", FORS", x, label, "", float64(phases)/float64(base)).Detail = !told
	}
	return nil
}

func planned(t *topology.Tree, seed uint64) (int, error) {
	s, _, err := scheduler.FORS(t, scheduler.Options{Seed: seed})
	if err != nil {
		return 0, err
	}
	return s.Phases, nil
}

// seconds times one plan by the clock of the options.
func (o *Options) seconds(t *topology.Tree, schedule string) (float64, error) {
	start := o.now()
	_, err := plan.Build(t, plan.Options{Schedule: schedule, Seed: o.Seed})
	return (o.now() - start).Seconds(), err
}

func (o *Options) now() time.Duration {
	if o.Clock == nil {
		return 0
	}
	return o.Clock()
}

func repairTimes(ctx context.Context, o *Options, f *Figure) error {
	t, err := topology.New(lhcb())
	if err != nil {
		return err
	}
	draws := o.draws(10, 2)
	f.Setup = []string{
		fmt.Sprintf("reduction b: 1 to 3 leaves have lost b links to the same spines, drawn %d times", draws),
		"ours: repair of bandwidth-optimal by edge colouring, with spines, bound and tables, on this machine, all CPUs; one plan at a time",
	}
	for _, b := range o.points(11, 0, 1, 8)[1:] {
		o.tell(f.Name, "reduction %d", b)
		var values []float64
		for i := range draws {
			if err := ctx.Err(); err != nil {
				return err
			}
			reduced, err := leavesWithout(t, b, o.Seed+uint64(i))
			if err != nil {
				return err
			}
			s, err := o.seconds(reduced, "repair:bandwidth-optimal")
			if err != nil {
				return err
			}
			values = append(values, s)
		}
		f.add("computation", float64(b), fmt.Sprint(b), "s", values...)
	}
	return nil
}

func leavesWithout(t *topology.Tree, f int, seed uint64) (*topology.Tree, error) {
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

func forsTimes(ctx context.Context, o *Options, f *Figure) error {
	n, err := topology.New(lhcb())
	if err != nil {
		return err
	}
	draws := o.draws(100, 4)
	f.Setup = []string{
		fmt.Sprintf("1 to 180 of 360 links dead, evenly spread, %d draws", draws),
		"ours: schedule and spines of the fewest phases that are possible, with the proof and the tables, on this machine, all CPUs; one plan at a time",
	}
	o.tell(f.Name, "%d plans", draws)
	var values []float64
	for i := range draws {
		if err := ctx.Err(); err != nil {
			return err
		}
		links, err := n.Random(1+179*i/(draws-1), o.Seed+uint64(i))
		if err != nil {
			return err
		}
		t, err := n.Without(links...)
		if err != nil {
			return err
		}
		s, err := o.seconds(t, scheduler.NameFORS)
		if err != nil {
			return err
		}
		values = append(values, s)
	}
	f.add("computation", 0, "any", "s", values...)
	return nil
}

func entries(ctx context.Context, o *Options, f *Figure) error {
	net := lhcb()
	net.Fill = fillA
	healthy, err := topology.New(net)
	if err != nil {
		return err
	}
	f.Setup = []string{
		"FT(2;20,18), 326 servers; reduction f: every leaf has lost f links; entries of a switch: 2^LMC of each server, and one of each other switch",
		"any schedule: what the thesis reckons with, up to 20 spines from a leaf to a server; FORS: what plans with that objective need",
	}
	worst := routing.CountPaths(healthy, func(src, dst int) int { return (src + dst) % net.Ports })
	f.add("entries, any schedule", 0, "0", "entries", float64(worst.Entries))
	f.add("LMC, any schedule", 0, "0", "", float64(worst.LMC))
	for _, reduction := range o.points(6, 0, 2) {
		if err := ctx.Err(); err != nil {
			return err
		}
		o.tell(f.Name, "reduction %d", reduction)
		t, err := survey.Reduced(healthy, reduction, true)
		if err != nil {
			return err
		}
		for _, objective := range []scheduler.Objective{scheduler.FewestPhases, scheduler.FewestPaths} {
			p, err := plan.Build(t, plan.Options{Schedule: scheduler.NameFORS, Objective: objective, Seed: o.Seed})
			if err != nil {
				return err
			}
			x, label := float64(reduction), fmt.Sprint(reduction)
			f.add(fmt.Sprintf("entries, FORS with fewest %s", objective), x, label, "entries", float64(p.Paths.Entries))
			f.add(fmt.Sprintf("LMC, FORS with fewest %s", objective), x, label, "", float64(p.Paths.LMC))
			f.add(fmt.Sprintf("phases, FORS with fewest %s", objective), x, label, "", float64(p.Phases()))
		}
	}
	return f.largerEntries(ctx, o)
}

// larger is the tree that thesis 6.7.2 ends with.
const larger = ", FT(2;36,36)"

// largerEntries adds a network with 1,296 servers. The thesis reckons it without the power
// of two: an entry for each spine and server, and one of each switch, its own included.
func (f *Figure) largerEntries(ctx context.Context, o *Options) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t, err := parse(strings.TrimPrefix(larger, ", "))
	if err != nil {
		return err
	}
	o.tell(f.Name, "%s", t.Notation())
	f.Setup = append(f.Setup, "a path an entry: of each server as many as spines lead there from some leaf, and one of each switch, as the thesis reckons for FT(2;36,36)")
	worst := routing.CountPaths(t, func(src, dst int) int { return (src + dst) % t.Spines() })
	f.add("entries, any schedule, a path an entry"+larger, 0, "0", "entries", float64(worst.Most*t.Servers()+t.Leaves()+t.Spines()))
	f.add("entries, any schedule"+larger, 0, "0", "entries", float64(worst.Entries))
	f.add("LMC, any schedule"+larger, 0, "0", "", float64(worst.LMC))
	p, err := plan.Build(t, plan.Options{Schedule: scheduler.NameFORS, Objective: scheduler.FewestPaths, Seed: o.Seed})
	if err != nil {
		return err
	}
	f.add("entries, FORS with fewest paths"+larger, 0, "0", "entries", float64(p.Paths.Entries))
	f.add("LMC, FORS with fewest paths"+larger, 0, "0", "", float64(p.Paths.LMC))
	return nil
}

package papers

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"evbench/evidence/tables"
	"evbench/internal/lists"
	"evbench/plan"
	"evbench/routing"
	"evbench/scheduler"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

func shuffled(n int, seed, stream uint64) []int {
	return rand.New(rand.NewPCG(seed, stream)).Perm(n)
}

func parse(notation string) *topology.Tree { return must(topology.New(must(topology.Parse(notation)))) }

// slowdown makes Figures 5.7 and 5.10 to 5.12: the title names the tree.
func slowdown(w *work) {
	notation := w.Title[strings.Index(w.Title, "FT("):]
	t := parse(notation)
	w.Setup = []string{
		"reduction f: leaf0 has lost f links; LS linear shift, BO bandwidth-optimal, FS its repair (5.4.3), which has one message on a link in each phase",
		"FS / equation 5.1: phases of the repair over those that the equation gives; quick: at reductions 0, 1, 2 and half the links",
		"duration of a phase: messages of a leaf over its live links (Algorithm 2, rounded up as its text says); slowdown = duration / servers",
	}
	models := []struct{ name, suffix, adapted string }{{tables.Count, "", "FS"}}
	if !w.Quick {
		w.Setup = append(w.Setup, "routed: the same from link loads of plans: LS over min-hop, BO with a spine chosen for each message and phase, FORS; over servers - 1")
		models = append(models, struct{ name, suffix, adapted string }{tables.Routed, ", routed", "FORS"})
	}
	for _, model := range models {
		w.tell("%s, model %s", notation, model.name)
		rows := must(tables.Slowdown(tables.Run{}, t, model.name, w.Seed))
		rows = rows[:t.Ports()/2+1] // those after all reductions are of all leaves
		var repaired []int
		if w.Name != "fig5.7" && model.name == tables.Count {
			repaired = w.repairs(t, len(rows))
		}
		for _, r := range rows {
			adapted := model.adapted
			switch {
			case w.Name == "fig5.7": // which is without
				adapted = ""
			case model.name == tables.Count && repaired[r.Reduction] == 0:
				adapted = ""
			case model.name == tables.Count:
				w.at("FS / equation 5.1", r.Reduction, "", float64(repaired[r.Reduction])/float64(r.Phases))
				r.Adapted = repaired[r.Reduction]
			}
			w.slowdownRows(r, model.suffix, adapted)
		}
	}
}

// repairs returns the phases of the fault-adaptive schedule, the repair of bandwidth-optimal
// (thesis 5.4.3, Algorithm 3; changes: see package scheduler), at reductions 0..n-1; 0 where it is
// left out.
func (w *work) repairs(t *topology.Tree, n int) []int {
	phases := make([]int, n)
	wanted := w.points(n, 0, 1, 2, n-1)
	each(w, len(wanted), func(i int) {
		reduced := must(tables.Reduced(t, wanted[i], false))
		phases[wanted[i]] = scheduled(schedules.RepairPrefix+schedules.BandwidthOptimal, reduced, w.Seed, 1).Phases
	})
	return phases
}

func scheduled(name string, t *topology.Tree, seed uint64, workers int) *scheduler.Schedule {
	s, _, err := scheduler.ByName(name, t, scheduler.Options{Seed: seed, Workers: workers})
	check(err)
	return s
}

func (w *work) slowdownRows(r tables.SlowdownRow, suffix, adapted string) {
	ls, bo, fs := float64(r.LinearShift), float64(r.BandwidthOptimal), float64(r.Adapted)
	ideal := float64(r.Ideal)
	w.at("LS"+suffix, r.Reduction, "", ls/ideal)
	w.at("BO"+suffix, r.Reduction, "", bo/ideal)
	w.at("LS/BO"+suffix, r.Reduction, "", ls/bo)
	if adapted != "" {
		w.at(adapted+suffix, r.Reduction, "", fs/ideal)
		w.at("LS/"+adapted+suffix, r.Reduction, "", ls/fs)
		w.at("BO/"+adapted+suffix, r.Reduction, "", bo/fs)
	}
}

func phaseFactor(w *work) {
	w.Setup = []string{
		"reduction f: every leaf has lost f links; factor = phases by equation 5.1 over those without failures",
		"FORS: phases of plans over those of the plan without failures; quick: at no, one and half the links lost, up to 360 servers",
	}
	for _, notation := range []string{"FT(2;8,16)", "FT(2;16,16)", "FT(2;20,18)", "FT(2;16,32)", "FT(2;32,32)"} {
		w.tell("%s", notation)
		t := parse(notation)
		half := t.Ports() / 2
		healthy := tables.FaultAdaptivePhases(t)
		base := scheduled(schedules.FORS, t, w.Seed, 0).Phases
		for reduction := range t.Ports() {
			check(w.Err())
			reduced := must(tables.Reduced(t, reduction, true))
			told := reduction <= 1 || reduction == half
			w.at(notation, reduction, "", float64(tables.FaultAdaptivePhases(reduced))/float64(healthy)).Detail = !told
			if reduction > half || w.Quick && (!told || t.Servers() > 360) {
				continue
			}
			phases := scheduled(schedules.FORS, reduced, w.Seed, 0).Phases
			w.at(notation+", FORS", reduction, "", float64(phases)/float64(base)).Detail = !told
		}
	}
}

// seconds returns how long do takes by the clock of the options.
func (w *work) seconds(do func() error) float64 {
	check(w.Err())
	now := func() time.Duration {
		if w.Clock == nil {
			return 0
		}
		return w.Clock()
	}
	start := now()
	check(do())
	return (now() - start).Seconds()
}

func (w *work) planning(t *topology.Tree, schedule string) float64 {
	return w.seconds(func() error {
		_, err := plan.Build(t, plan.Options{Schedule: schedule, Seed: w.Seed})
		return err
	})
}

func repairTimes(w *work) {
	t := must(topology.New(lhcb()))
	draws := w.draws(10, 2)
	w.Setup = []string{
		fmt.Sprintf("reduction b: 1 to 3 leaves have lost b links to the same spines, drawn %d times", draws),
		"ours: repair of bandwidth-optimal by edge colouring, with spines, bound and tables, on this machine, all CPUs; one plan at a time",
	}
	for _, b := range w.points(11, 0, 1, 8)[1:] {
		w.tell("reduction %d", b)
		w.at("computation", b, "s", lists.Tabulate(draws, func(i int) float64 {
			return w.planning(leavesWithout(t, b, w.Seed+uint64(i)), schedules.RepairPrefix+schedules.BandwidthOptimal)
		})...)
	}
}

func leavesWithout(t *topology.Tree, f int, seed uint64) *topology.Tree {
	rng := rand.New(rand.NewPCG(seed, uint64(f)))
	leaves, spines := rng.Perm(t.Leaves())[:1+rng.IntN(3)], rng.Perm(t.Spines())[:f]
	var dead []topology.Link
	for _, l := range leaves {
		for _, k := range spines {
			dead = append(dead, topology.Link{Leaf: l, Spine: k})
		}
	}
	return must(t.Without(dead...))
}

func forsTimes(w *work) {
	n := must(topology.New(lhcb()))
	draws := w.draws(100, 4)
	w.Setup = []string{
		fmt.Sprintf("1 to 180 of 360 links dead, evenly spread, %d draws", draws),
		"ours: schedule and spines of the fewest phases that are possible, with the proof and the tables, on this machine, all CPUs; one plan at a time",
	}
	w.tell("%d plans", draws)
	w.add("computation", 0, "any", "s", lists.Tabulate(draws, func(i int) float64 {
		links := must(n.Random(1+179*i/(draws-1), w.Seed+uint64(i)))
		return w.planning(must(n.Without(links...)), schedules.FORS)
	})...)
}

// larger is the last tree of thesis 6.7.2. The thesis computes it without the power of two: an
// entry for each spine and server, and one for each switch, its own included.
const larger = ", FT(2;36,36)"

func entries(w *work) {
	net := lhcb()
	net.Fill = fillA
	healthy := must(topology.New(net))
	w.Setup = []string{
		"FT(2;20,18), 326 servers; reduction f: every leaf has lost f links; entries of a switch: 2^LMC of each server, and one of each other switch",
		"any schedule: what the thesis reckons with, up to 20 spines from a leaf to a server; FORS: what plans with that objective need",
		"a path an entry: of each server as many as spines lead there from some leaf, and one of each switch, as the thesis reckons for FT(2;36,36)",
	}
	worst := func(t *topology.Tree) topology.Paths {
		return routing.CountPaths(t, func(src, dst int) int { return (src + dst) % t.Spines() })
	}
	pair := func(schedule string, x int, p topology.Paths, suffix string) {
		w.at("entries, "+schedule+suffix, x, "entries", float64(p.Entries))
		w.at("LMC, "+schedule+suffix, x, "", float64(p.LMC))
	}
	planned := func(t *topology.Tree, objective schedules.Objective) *plan.Plan {
		return must(plan.Build(t, plan.Options{Schedule: schedules.FORS, Objective: objective, Seed: w.Seed}))
	}
	pair("any schedule", 0, worst(healthy), "")
	for _, reduction := range w.points(6, 0, 2) {
		w.tell("reduction %d", reduction)
		t := must(tables.Reduced(healthy, reduction, true))
		for _, objective := range []schedules.Objective{schedules.FewestPhases, schedules.FewestPaths} {
			p, schedule := planned(t, objective), fmt.Sprintf("FORS with fewest %s", objective)
			pair(schedule, reduction, p.Paths, "")
			w.at("phases, "+schedule, reduction, "", float64(p.Phases()))
		}
	}
	t := parse(strings.TrimPrefix(larger, ", "))
	w.tell("%s", t.Notation())
	all := worst(t)
	w.at("entries, any schedule, a path an entry"+larger, 0, "entries", float64(all.Most*t.Servers()+t.Leaves()+t.Spines()))
	pair("any schedule", 0, all, larger)
	pair("FORS with fewest paths", 0, planned(t, schedules.FewestPaths).Paths, larger)
}

// workedExamples are the small example networks of thesis 5.3, 5.4 and 6.2, with numbers in the
// text: Figures 5.5, 5.6 and 5.8, Tables 5.4, 6.1 and 6.2.
func workedExamples(w *work) {
	w.Setup = []string{
		"FT(2;2,2): leaf0 has lost a link; time units by Algorithm 2",
		"FT(2;2,4): the link of leaf0 and spine0 is dead; FT(2;4,8): leaf0-spine0, leaf1-spine1, leaf2-spine2 and leaf3-spine3 are",
		"moved: messages that the repair puts into another phase than its base has; bound: the fewest phases that any schedule without contention has",
	}
	row := must(tables.Slowdown(tables.Run{}, parse("FT(2;2,2)"), tables.Count, w.Seed))[1]
	w.add("BO, one dead link", 1, "FT(2;2,2)", "units", float64(row.BandwidthOptimal))
	w.add("LS, one dead link", 1, "FT(2;2,2)", "units", float64(row.LinearShift))
	w.example(2, "FT(2;2,4)", schedules.BandwidthOptimal, topology.Link{Leaf: 0, Spine: 0})
	w.example(3, "FT(2;4,8)", schedules.LinearShift, lists.Tabulate(4, func(i int) topology.Link { return topology.Link{Leaf: i, Spine: i} })...)
}

// example adds the effect of the repair of a schedule on a tree with dead links.
func (w *work) example(x float64, notation, base string, dead ...topology.Link) {
	check(w.Err())
	t := must(parse(notation).Without(dead...))
	before := scheduled(base, t, w.Seed, 0)
	after, bound, err := scheduler.ByName(schedules.RepairPrefix+base, t, scheduler.Options{Seed: w.Seed})
	check(err)
	moved, ofLeaf, ofReduced := 0, 0, 0
	for src := range t.Servers() {
		for dst := range t.Servers() {
			if !before.Meets(src, dst) {
				continue
			}
			p, _ := before.At(src, dst)
			if q, _ := after.At(src, dst); p != q {
				moved++
				leaf := t.Leaf(src)
				if leaf == 0 {
					ofLeaf++
				}
				if len(t.AliveSpines(leaf)) < t.Spines() {
					ofReduced++
				}
			}
		}
	}
	for _, r := range []struct {
		series, unit string
		value        int
	}{
		{"equation 5.1", "phases", tables.FaultAdaptivePhases(t)},
		{"bound", "phases", bound.Phases},
		{"FORS", "phases", scheduled(schedules.FORS, t, w.Seed, 0).Phases},
		{"repair of " + base, "phases", after.Phases},
		{"moved, all", "messages", moved},
		{"moved, from leaves with a dead link", "messages", ofReduced},
		{"moved, from leaf0", "messages", ofLeaf},
	} {
		w.add(r.series, x, notation, r.unit, float64(r.value))
	}
}

package papers

import (
	"evbench/scheduler"
	"evbench/study/survey"
	"evbench/topology"
)

// workedExamples are the small networks on which thesis 5.3, 5.4 and 6.2 explain, and whose
// numbers the text states: Figures 5.5, 5.6 and 5.8, Tables 5.4, 6.1 and 6.2.
func workedExamples(w *work) {
	w.Setup = []string{
		"FT(2;2,2): leaf0 has lost a link; time units by Algorithm 2",
		"FT(2;2,4): the link of leaf0 and spine0 is dead; FT(2;4,8): leaf0-spine0, leaf1-spine1, leaf2-spine2 and leaf3-spine3 are",
		"moved: messages that the repair puts into another phase than its base has; bound: the fewest phases that any schedule without contention has",
	}
	row := must(survey.Slowdown(parse("FT(2;2,2)"), survey.Count, w.Seed))[1]
	w.add("BO, one dead link", 1, "FT(2;2,2)", "units", float64(row.BandwidthOptimal))
	w.add("LS, one dead link", 1, "FT(2;2,2)", "units", float64(row.LinearShift))
	w.example(2, "FT(2;2,4)", scheduler.NameBandwidthOptimal, topology.Link{Leaf: 0, Spine: 0})
	var dead []topology.Link
	for i := range 4 {
		dead = append(dead, topology.Link{Leaf: i, Spine: i})
	}
	w.example(3, "FT(2;4,8)", scheduler.NameLinearShift, dead...)
}

// example adds what the repair of a schedule does on a tree with dead links.
func (w *work) example(x float64, notation, base string, dead ...topology.Link) {
	check(w.Err())
	t := must(parse(notation).Without(dead...))
	before := scheduled(base, t, w.Seed, 0)
	after, bound, err := scheduler.ByName(scheduler.RepairPrefix+base, t, scheduler.Options{Seed: w.Seed})
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
		{"equation 5.1", "phases", survey.FaultAdaptivePhases(t)},
		{"bound", "phases", bound.Phases},
		{"FORS", "phases", scheduled(scheduler.NameFORS, t, w.Seed, 0).Phases},
		{"repair of " + base, "phases", after.Phases},
		{"moved, all", "messages", moved},
		{"moved, from leaves with a dead link", "messages", ofReduced},
		{"moved, from leaf0", "messages", ofLeaf},
	} {
		w.add(r.series, x, notation, r.unit, float64(r.value))
	}
}

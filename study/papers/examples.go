package papers

import (
	"context"
	"fmt"

	"evbench/scheduler"
	"evbench/study/survey"
	"evbench/topology"
)

// workedExamples are the small networks on which thesis 5.3, 5.4 and 6.2 explain, and whose
// numbers the text states: Figures 5.5, 5.6 and 5.8, Tables 5.4, 6.1 and 6.2.
func workedExamples(ctx context.Context, o *Options, f *Figure) error {
	f.Setup = []string{
		"FT(2;2,2): leaf0 has lost a link; time units by Algorithm 2",
		"FT(2;2,4): the link of leaf0 and spine0 is dead; FT(2;4,8): leaf0-spine0, leaf1-spine1, leaf2-spine2 and leaf3-spine3 are",
		"moved: messages that the repair puts into another phase than its base has; bound: the fewest phases that any schedule without contention has",
	}
	small, err := parse("FT(2;2,2)")
	if err != nil {
		return err
	}
	rows, err := survey.Slowdown(small, survey.Count, o.Seed)
	if err != nil {
		return err
	}
	f.add("BO, one dead link", 1, "FT(2;2,2)", "units", float64(rows[1].BandwidthOptimal))
	f.add("LS, one dead link", 1, "FT(2;2,2)", "units", float64(rows[1].LinearShift))
	if err := f.example(o, 2, "FT(2;2,4)", scheduler.NameBandwidthOptimal, topology.Link{Leaf: 0, Spine: 0}); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	var dead []topology.Link
	for i := range 4 {
		dead = append(dead, topology.Link{Leaf: i, Spine: i})
	}
	return f.example(o, 3, "FT(2;4,8)", scheduler.NameLinearShift, dead...)
}

// example adds what the repair of a schedule does on a tree with dead links.
func (f *Figure) example(o *Options, x float64, notation, base string, dead ...topology.Link) error {
	whole, err := parse(notation)
	if err != nil {
		return err
	}
	t, err := whole.Without(dead...)
	if err != nil {
		return err
	}
	before, _, err := scheduler.ByName(base, t, scheduler.Options{Seed: o.Seed})
	if err != nil {
		return err
	}
	after, bound, err := scheduler.ByName(scheduler.RepairPrefix+base, t, scheduler.Options{Seed: o.Seed})
	if err != nil {
		return err
	}
	planned, _, err := scheduler.FORS(t, scheduler.Options{Seed: o.Seed})
	if err != nil {
		return err
	}
	moved, ofLeaf, ofReduced := 0, 0, 0
	for src := range t.Servers() {
		for dst := range t.Servers() {
			if !before.Meets(src, dst) {
				continue
			}
			p, _ := before.At(src, dst)
			if q, _ := after.At(src, dst); p != q {
				moved++
				switch leaf := t.Leaf(src); {
				case leaf == 0:
					ofLeaf++
					ofReduced++
				case len(t.AliveSpines(leaf)) < t.Spines():
					ofReduced++
				}
			}
		}
	}
	f.add("equation 5.1", x, notation, "phases", float64(survey.FaultAdaptivePhases(t)))
	f.add("bound", x, notation, "phases", float64(bound.Phases))
	f.add("FORS", x, notation, "phases", float64(planned.Phases))
	f.add(fmt.Sprintf("repair of %s", base), x, notation, "phases", float64(after.Phases))
	f.add("moved, all", x, notation, "messages", float64(moved))
	f.add("moved, from leaves with a dead link", x, notation, "messages", float64(ofReduced))
	f.add("moved, from leaf0", x, notation, "messages", float64(ofLeaf))
	return nil
}

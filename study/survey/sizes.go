package survey

import (
	"fmt"

	"evbench/scheduler"
	"evbench/scheduler/sizes"
	"evbench/topology"
)

// meanSize is the mean of drawn sizes, in bytes.
const meanSize = 100_000

// SizesTable compares, for fragments of unequal sizes with 0, 1 and 9 dead links, the
// phases of FORS with the plan by sizes: bound over time, without any overhead. A phase
// takes as long as its largest fragment. The seed draws sizes and dead links; draws that
// cut leaves apart are drawn again, and left out where a hundred do.
func SizesTable(t *topology.Tree, seed uint64) (*Table, error) {
	if _, err := sizes.NewMatrix(t); err != nil {
		return nil, err
	}
	table := NewTable("sizes", t.Notation(), []string{
		"T*/T: least time over time, one exchange, without overheads of barriers and messages",
		"phases: those of FORS, each as long as its largest fragment; planned: evbench plan --sizes",
		fmt.Sprintf("sizes: uniform50 ±50 %%, exponential, log-normal σ 1, source-event log-normal σ 1/2 of each, fanout8 to 8 others; mean %d bytes", meanSize),
	}, []Column{
		NewColumn("dead", "dead_links", 0), NewColumn("sizes", "sizes", 0), NewColumn("bound by", "bound_by", 0),
		NewColumn("phases", "phases_ratio", 3), NewColumn("planned", "planned_ratio", 3),
	})
	for _, dead := range []int{0, 1, 9} {
		broken := connectedDraw(t, dead, seed)
		if broken == nil {
			continue
		}
		fors, _, err := scheduler.FORS(broken, scheduler.Options{Seed: seed})
		if err != nil {
			return nil, err
		}
		for _, distribution := range sizes.Distributions() {
			m, err := sizes.Draw(broken, distribution, meanSize, seed)
			if err != nil {
				return nil, err
			}
			p, err := sizes.Make(broken, m, sizes.Options{Seed: seed})
			if err != nil {
				return nil, err
			}
			table.Add(dead, distribution, p.Bound.Kind, float64(p.Bound.Time)/float64(m.InPhases(fors)), p.Efficiency())
		}
	}
	return table, nil
}

// connectedDraw returns the tree without so many random links, or nil.
func connectedDraw(t *topology.Tree, dead int, seed uint64) *topology.Tree {
	for try := range uint64(100) {
		links, err := t.Random(dead, seed+try)
		if err != nil {
			return nil
		}
		if v, err := t.Without(links...); err == nil && v.Connected() == nil {
			return v
		}
	}
	return nil
}

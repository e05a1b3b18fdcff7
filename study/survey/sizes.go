package survey

import (
	"fmt"

	"evbench/scheduler"
	"evbench/scheduler/sizes"
	"evbench/topology"
)

const (
	meanSize      = 100_000 // of drawn sizes, in bytes
	longestWindow = 4       // exchanges
	windowServers = 512     // windows are planned for so many servers at most
)

// SizesTable compares, for fragments of unequal sizes with 0, 1 and 9 dead links, the
// phases of FORS with the plan by sizes: bound over time, without any overhead. A phase
// takes as long as its largest fragment. Windows are of whole fragments. The seed draws sizes and dead links; draws that
// cut leaves apart are drawn again, and left out where a hundred do.
func SizesTable(t *topology.Tree, seed uint64) (*Table, error) {
	if _, err := sizes.NewMatrix(t); err != nil {
		return nil, err
	}
	table := NewTable("sizes", t.Notation(), []string{
		"T*/T: least time over time, without overheads of barriers and messages",
		"phases: those of FORS, each as long as its largest fragment; planned: evbench plan --sizes, with so many pieces to a fragment",
		fmt.Sprintf("×2 to ×4: windows of so many exchanges back to back, whole fragments, up to %d servers", windowServers),
		fmt.Sprintf("sizes: uniform50 ±50 %%, exponential, log-normal σ 1, source-event log-normal σ 1/2 of each, fanout8 to 8 others, equal-ports ±50 %% scaled to equal loads of ports; mean %d bytes", meanSize),
	}, []Column{
		NewColumn("dead", "dead_links", 0), NewColumn("sizes", "sizes", 0), NewColumn("bound by", "bound_by", 0),
		NewColumn("phases", "phases_ratio", 3), NewColumn("planned", "planned_ratio", 3), NewColumn("pieces", "pieces_per_fragment", 2),
		NewColumn("×2", "window2_ratio", 3), NewColumn("×3", "window3_ratio", 3), NewColumn("×4", "window4_ratio", 3),
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
			row, err := sizesRow(broken, fors, distribution, seed)
			if err != nil {
				return nil, err
			}
			table.Add(append([]any{dead, distribution}, row...)...)
		}
	}
	return table, nil
}

// sizesRow returns what bounds an exchange, T*/T of phases and planned, pieces a fragment,
// and T*/T of windows.
func sizesRow(t *topology.Tree, fors *scheduler.Schedule, distribution string, seed uint64) ([]any, error) {
	var row []any
	var window []*sizes.Matrix
	for n := range longestWindow {
		if n > 0 && t.Servers() > windowServers {
			row = append(row, nil)
			continue
		}
		m, err := sizes.Draw(t, distribution, meanSize, seed+uint64(n))
		if err != nil {
			return nil, err
		}
		window = append(window, m)
		p, err := sizes.MakeWindow(t, window, sizes.Options{Seed: seed, Split: n == 0})
		if err != nil {
			return nil, err
		}
		if n > 0 {
			row = append(row, p.Efficiency())
			continue
		}
		fragments := 0
		for x := range p.Pieces() {
			if x.Offset == 0 {
				fragments++
			}
		}
		row = []any{p.Bound.Kind, float64(p.Bound.Time) / float64(m.InPhases(fors)), p.Efficiency(), float64(p.Len()) / float64(fragments)}
	}
	return row, nil
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

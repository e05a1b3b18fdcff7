package tables

import (
	"fmt"
	"math"
	"sync"

	"evbench/builder"
	"evbench/internal/answer"
	"evbench/scheduler"
	"evbench/scheduler/list"
	"evbench/topology"
)

const (
	meanSize      = 100_000 // of drawn sizes, in bytes
	longestWindow = 4       // exchanges
	windowServers = 512     // windows are planned for so many servers at most
)

// unequal are the distributions of SizesTable, drawn as in runs; equalPorts are then scaled.
var unequal = []struct {
	name string
	builder.Distribution
	equalPorts bool
}{
	{"equal", builder.Distribution{}, false},
	{"uniform50", builder.Distribution{Spread: 0.5}, false},
	{"exponential", builder.Distribution{Kind: builder.Exponential}, false},
	{"log-normal", builder.Distribution{Kind: builder.LogNormal, Sigma: 1}, false},
	{"source-event", builder.Distribution{Kind: builder.LogNormal, By: builder.BySourceEvent, Sigma: 0.5}, false},
	{"fanout8", builder.Distribution{Spread: 0.5, Fanout: 8}, false},
	{"equal-ports", builder.Distribution{Spread: 0.5}, true},
}

// SizesTable compares, for fragments of unequal sizes with 0, 1 and 9 dead links, the phases of
// FORS with the plan by sizes: bound over time, without any overhead. A phase takes as long as its
// largest fragment. Windows have whole fragments. The seed draws sizes and dead links. Draws that
// separate leaves are drawn again, and left out after a hundred tries.
func SizesTable(run Run, t *topology.Tree, seed uint64) (*answer.Table, error) {
	if _, err := list.NewMatrix(t.Servers()); err != nil {
		return nil, err
	}
	table := &answer.Table{Name: "sizes", Topology: t.Notation(), Notes: []string{
		"T*/T: least time over time, without overheads of barriers and messages",
		"phases: those of FORS, each as long as its largest fragment; planned: evbench plan --sizes, with so many pieces to a fragment",
		fmt.Sprintf("×2 to ×4: windows of so many exchanges back to back, whole fragments, up to %d servers", windowServers),
		fmt.Sprintf("sizes: uniform50 ±50 %%, exponential, log-normal σ 1, source-event log-normal σ 1/2 of each, fanout8 to 8 others, equal-ports ±50 %% scaled to equal loads of ports; mean %d bytes", meanSize),
	}, Columns: []answer.Column{
		col("dead", "dead_links", 0), col("sizes", "sizes", 0), col("bound by", "bound_by", 0),
		col("phases", "phases_ratio", 3), col("planned", "planned_ratio", 3), col("pieces", "pieces_per_fragment", 2),
		col("×2", "window2_ratio", 3), col("×3", "window3_ratio", 3), col("×4", "window4_ratio", 3),
	}}
	trees, fors := map[int]*topology.Tree{}, map[int]func() (*scheduler.Schedule, error){}
	var numbers []int // of dead links
	for _, dead := range []int{0, 1, 9} {
		if broken := connectedDraw(t, dead, seed); broken != nil {
			numbers, trees[dead] = append(numbers, dead), broken
			fors[dead] = sync.OnceValues(func() (*scheduler.Schedule, error) {
				s, _, err := scheduler.FORS(broken, scheduler.Options{Seed: seed})
				return s, err
			})
		}
	}
	done, err := rows(run, len(numbers)*len(unequal), nil, func(i int) ([]any, error) {
		dead, u := numbers[i/len(unequal)], unequal[i%len(unequal)]
		s, err := fors[dead]()
		if err != nil {
			return nil, err
		}
		u.Fanout = min(u.Fanout, t.Servers()-1)
		of := &builder.Sizes{Mean: meanSize, Seed: seed, Roles: builder.Roles{Servers: t.Servers()}, Distribution: u.Distribution}
		return sizesRow(trees[dead], s, of, u.equalPorts)
	})
	if err != nil {
		return nil, err
	}
	for i, row := range done {
		table.Add(append([]any{numbers[i/len(unequal)], unequal[i%len(unequal)].name}, row...)...)
	}
	return table, nil
}

// sizesRow returns the bound kind of an exchange, T*/T of phases and planned, pieces a fragment,
// and T*/T of windows.
func sizesRow(t *topology.Tree, fors *scheduler.Schedule, of *builder.Sizes, equalPorts bool) ([]any, error) {
	var row []any
	var window []*list.Matrix
	for n := range longestWindow {
		if n > 0 && t.Servers() > windowServers {
			row = append(row, nil)
			continue
		}
		m, err := list.Exchange(t.Shape, of.Of, uint64(n))
		if err == nil && equalPorts {
			m, err = scaled(t, m)
		}
		if err != nil {
			return nil, err
		}
		window = append(window, m)
		p, err := list.MakeWindow(t, window, list.Options{Seed: of.Seed, Split: n == 0})
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
		row = []any{p.Bound.Kind, float64(p.Bound.Phases) / float64(inPhases(m, fors)), p.Efficiency(), float64(p.Len()) / float64(fragments)}
	}
	return row, nil
}

// scaled scales the bytes that servers send and receive in turn until all have the mean in each
// direction (Sinkhorn, Knopp 1967).
func scaled(t *topology.Tree, m *list.Matrix) (*list.Matrix, error) {
	s := t.Servers()
	factor := [2][]float64{make([]float64, s), make([]float64, s)} // of senders, of receivers
	for i := range s {
		factor[0][i], factor[1][i] = 1, 1
	}
	for turn := range 64 {
		d := turn % 2
		for i := range s {
			sum := 0.0
			for j := range s {
				pair := [2]int{i, j}
				sum += float64(float64(m.Size(pair[d], pair[1-d])) * factor[1-d][j])
			}
			factor[d][i] = float64((s-1)*meanSize) / sum
		}
	}
	out, err := list.NewMatrix(t.Servers())
	for i := range s * s {
		if src, dst := i/s, i%s; src != dst && err == nil {
			err = out.Set(src, dst, int64(math.Round(float64(m.Size(src, dst))*factor[0][src]*factor[1][dst])))
		}
	}
	return out, err
}

// connectedDraw returns the tree without so many random links, or nil.
func connectedDraw(t *topology.Tree, dead int, seed uint64) *topology.Tree {
	for try := range uint64(100) {
		links, err := t.Random(dead, seed+try)
		if err != nil {
			return nil
		}
		if v, err := t.Without(links...); err == nil && v.Exchanges() == nil {
			return v
		}
	}
	return nil
}

// inPhases returns how long the phases of a schedule take when a barrier ends each: the sum of their largest sizes.
func inPhases(m *list.Matrix, s *scheduler.Schedule) (sum int64) {
	most := make([]int64, s.Phases)
	for x := range s.All() {
		most[x.Phase] = max(most[x.Phase], m.Size(x.Src, x.Dst))
	}
	for _, n := range most {
		sum += n
	}
	return sum
}

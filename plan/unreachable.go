package plan

import (
	"fmt"
	"slices"
	"strings"

	"evbench/internal/lists"
	"evbench/scheduler"
	"evbench/topology"
)

// An UnreachableError names the pairs of leaves whose servers cannot reach each
// other, at least one.
type UnreachableError struct{ Pairs [][2]int }

// named is how many pairs an error names.
const named = 10

func (e *UnreachableError) Error() string {
	names := lists.Map(e.Pairs[:min(named, len(e.Pairs))], func(c [2]int) string { return fmt.Sprintf("leaf%d and leaf%d", c[0], c[1]) })
	more := ""
	if n := len(e.Pairs) - len(names); n > 0 {
		more = fmt.Sprintf(", and %d more pairs,", n)
	}
	return fmt.Sprintf("%s%s have no spine in common that is alive: their servers cannot reach each other", strings.Join(names, ", "), more)
}

// Unwrap returns the first pair as a *topology.UnreachableError.
func (e *UnreachableError) Unwrap() error {
	return &topology.UnreachableError{A: e.Pairs[0][0], B: e.Pairs[0][1]}
}

// drop leaves out the messages between unreachable leaves if the scheduler has not, and phases then
// without a message. It also drops the scheduler's bound, which covers more messages.
func (p *Plan) drop() error {
	if len(p.Unreachable) == 0 {
		return nil
	}
	cut, leaf := p.cuts(), p.Tree.LeafOfRanks()
	dropped, left := 0, 0
	for m := range p.Schedule.All() {
		if cut(leaf[m.Src], leaf[m.Dst]) {
			dropped++
		} else {
			left++
		}
	}
	if left == 0 {
		return fmt.Errorf("no server reaches another one: every pair of leaves has lost its paths")
	}
	if dropped > 0 {
		p.Schedule, p.Bound = p.Schedule.Without(p.Tree.Shape, p.Unreachable), scheduler.Bound{}
	}
	return nil
}

func (p *Plan) cuts() func(a, b int) bool { return pairSet(p.Unreachable) }

// pairSet reports, by its result, whether two leaves are one of the rising pairs.
func pairSet(pairs [][2]int) func(a, b int) bool {
	if len(pairs) == 0 {
		return func(_, _ int) bool { return false }
	}
	return func(a, b int) bool {
		_, found := slices.BinarySearchFunc(pairs, [2]int{min(a, b), max(a, b)}, func(x, y [2]int) int {
			return slices.Compare(x[:], y[:])
		})
		return found
	}
}

func PairNames(pairs [][2]int) []string {
	return lists.Map(pairs, func(c [2]int) string { return fmt.Sprintf("leaf%d-leaf%d", c[0], c[1]) })
}

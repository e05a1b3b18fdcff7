// Package tables computes what the pages of evidence state: how much slower an exchange becomes as links die
// (Slowdown), plans by size beside phases (SizesTable), ordered mode with tokens (TokensTable), and planned event
// building beside sprayed packets (Spraying). Durations of exchanges are in message times: the time of one message
// on one link. Equal input gives equal numbers for any number of CPUs.
package tables

import (
	"context"
	"fmt"

	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/model/sweep"
	"evbench/scheduler"
	"evbench/topology"
)

// Reduced returns t without its f highest spines: on leaf 0 only, or on all
// leaves. It is the "bandwidth reduction f" of thesis 5.2, at least one link
// lost by at least one leaf.
func Reduced(t *topology.Tree, f int, all bool) (*topology.Tree, error) {
	leaves := 1
	if all {
		leaves = t.Leaves()
	}
	var dead []topology.Link
	for l := range leaves {
		for k := t.Spines() - f; k < t.Spines(); k++ {
			dead = append(dead, topology.Link{Leaf: l, Spine: k})
		}
	}
	return t.Without(dead...)
}

// A Run limits the computation of a table: until a context ends, all of it or a shard. The zero
// value is all, without an end.
type Run struct {
	Context context.Context
	Sweep   *sweep.Sweep
}

// rows computes rows 0..n-1 of a table.
func rows[R any](r Run, n int, cost func(i int) float64, row func(i int) (R, error)) ([]R, error) {
	out := make([]R, n)
	ctx := r.Context
	if ctx == nil {
		ctx = context.Background()
	}
	return out, sweep.Run(ctx, r.Sweep, sweep.Items[R]{
		N: n, Cost: cost, Leave: true,
		Work: func(_ context.Context, i int) (R, error) { return row(i) },
		Put:  func(i int, v R) error { out[i] = v; return nil },
	})
}

// reductions computes a row for each reduction 0..links-1 of one leaf or pod, then of all. With
// fewer links left, plans have more phases.
func reductions[R any](r Run, links int, row func(f int, all bool) (R, error)) ([]R, error) {
	cost := func(i int) float64 { return 1 / float64(links-i%links) }
	return rows(r, 2*links, cost, func(i int) (R, error) { return row(i%links, i >= links) })
}

// plannable returns an error for trees without schedules, before a schedule takes their memory.
func plannable(t *topology.Shape) error {
	if n := t.Servers(); n > scheduler.MaxServers {
		return fmt.Errorf("%s: %d servers: evbench plans schedules of at most %d", t.Notation(), n, scheduler.MaxServers)
	}
	return nil
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

func pinnedPaths(t topology.Wires, s *scheduler.Schedule) func(src, dst int) int {
	return func(src, dst int) int {
		_, k := s.At(src, dst)
		return t.PathOf(k, s.Top(src, dst))
	}
}

// A counter holds how many messages of each phase leave and enter each leaf, or each subtree of
// another level, whichever is more: the input of the count model.
type counter struct {
	subtrees int
	external []uint16 // [phase·subtrees + subtree]
	busy     []bool   // by phase: a message leaves some leaf
}

// newCounter counts the messages between n subtrees, given the leaf and the subtree of each rank.
// O(S²).
func newCounter(s *scheduler.Schedule, leaf, subtree []int, n int) *counter {
	c := &counter{subtrees: n, external: make([]uint16, s.Phases*n), busy: make([]bool, s.Phases)}
	in := make([]uint16, s.Phases*n)
	for src, a := range subtree {
		for dst, b := range subtree {
			if leaf[src] == leaf[dst] || !s.Meets(src, dst) {
				continue
			}
			p, _ := s.At(src, dst)
			if c.busy[p] = true; a != b {
				c.external[p*n+a]++
				in[p*n+b]++
			}
		}
	}
	for i, n := range in {
		c.external[i] = max(c.external[i], n)
	}
	return c
}

// duration returns the duration of the exchange in message times by thesis 5.3, Algorithm 2: a
// phase lasts as long as the leaf with the most messages for each of its live links,
//
//	Σ over phases of max over leaves l of ⌈external(p,l) / live(l)⌉.
//
// For other levels subtrees take the place of leaves, and a phase whose messages only leave leaves
// costs 1: below, all links are alive.
//
// The listing prints ⌊ ⌋, the text ⌈ ⌉; only the latter makes sense. A phase in which all messages
// stay within leaves costs nothing. It is the best of any routing at the leaves; it ignores
// conflicts inside the spines.
func (c *counter) duration(live []int) int {
	sum := 0
	for p, busy := range c.busy {
		most := 0
		if busy {
			most = 1
		}
		for l, n := range c.external[p*c.subtrees:][:c.subtrees] {
			most = max(most, ceilDiv(int(n), live[l]))
		}
		sum += most
	}
	return sum
}

func liveLinks(t *topology.Tree) []int {
	return lists.Tabulate(t.Leaves(), func(l int) int { return max(1, len(t.AliveSpines(l))) })
}

// FaultAdaptivePhases returns the phases, and so the duration, of the thesis' fault-adaptive
// schedule (5.4.1, equation 5.1): the larger of S and ⌈n·(S-n)/live⌉ over the leaves. With full
// leaves and a reduction f the latter is ⌈M0·(S-M0)/(M0-f)⌉.
func FaultAdaptivePhases(t *topology.Tree) int {
	s := t.Servers()
	most := s
	for l := range t.Leaves() {
		n := t.ServersOn(l)
		most = max(most, ceilDiv(n*(s-n), max(1, len(t.AliveSpines(l)))))
	}
	return most
}

func col(title, name string, digits int) answer.Column {
	return answer.Column{Title: title, Name: name, Digits: digits}
}

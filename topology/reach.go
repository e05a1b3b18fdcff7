package topology

import (
	"fmt"
	"slices"
)

// An UnreachableError says that two leaves with servers have no live path to each other.
type UnreachableError struct {
	A, B  int
	three bool // levels
}

func (e *UnreachableError) Error() string {
	if e.three {
		return fmt.Sprintf("leaf%d and leaf%d have no live path, through a plane and, between pods, a top switch of it: their servers cannot reach each other", e.A, e.B)
	}
	return fmt.Sprintf("leaf%d and leaf%d have no spine in common that is alive: their servers cannot reach each other", e.A, e.B)
}

// Connected returns an *UnreachableError for the first pair of leaves with servers that
// have no live path, or nil.
func (t *Tree) Connected() error {
	for a, b := range t.apart {
		return &UnreachableError{a, b, t.tops > 0}
	}
	return nil
}

// Unreachable returns the pairs of leaves with servers that have no live path, rising, the
// smaller leaf first.
func (t *Tree) Unreachable() [][2]int {
	var out [][2]int
	for a, b := range t.apart {
		out = append(out, [2]int{a, b})
	}
	return out
}

// Severed returns the pairs of Unreachable between which there are messages, by the roles of their
// servers.
func (t *Tree) Severed() [][2]int {
	return slices.DeleteFunc(t.Unreachable(), func(p [2]int) bool { return t.MessagesBetween(p[0], p[1]) == 0 })
}

// Exchanges returns an *UnreachableError for the first pair of Severed, or nil.
func (t *Tree) Exchanges() error {
	for _, p := range t.Severed() {
		return &UnreachableError{p[0], p[1], t.tops > 0}
	}
	return nil
}

// apart yields the pairs of Unreachable. O(leaves²·planes + pods²·planes·tops).
func (t *Tree) apart(yield func(a, b int) bool) {
	meet := make([]bool, t.pods*t.spines) // of the pod of a with all others
	for a := range t.leaves {
		if a%t.PodLeaves() == 0 {
			for i := range meet {
				meet[i] = t.meet(a, i/t.spines*t.PodLeaves(), i%t.spines)
			}
		}
		for b := a + 1; b < t.leaves; b++ {
			if t.fill[a] > 0 && t.fill[b] > 0 && !t.reach(a, b, meet[t.Pod(b)*t.spines:]) && !yield(a, b) {
				return
			}
		}
	}
}

func (t *Tree) reach(a, b int, meet []bool) bool {
	for k := range t.spines {
		if meet[k] && t.Alive(a, k) && t.Alive(b, k) {
			return true
		}
	}
	return false
}

package topology

import (
	"fmt"
	"slices"

	"evbench/internal/lists"
)

// Live says which links live, which are dead, and which the network never had; and the names of
// switches, hosts and links.
type Live struct {
	Wires
	dead    []bool // by LinkID
	absent  []bool // by LinkID: dead, as it never was there; nil: none
	names   *Names // nil: there are none but ours
	renamed bool   // names has others than ours for switches
}

func (v *Live) LinkAlive(l Link) bool { return !v.dead[v.LinkID(l)] }

// Alive reports whether a cable between a leaf and a spine is alive.
func (v *Live) Alive(leaf, spine int) bool {
	if v.cables == 1 {
		return !v.dead[leaf*v.spines+spine]
	}
	return v.LiveCables(leaf, spine) > 0
}

// LiveCables returns how many cables between a leaf and a spine are alive.
func (v *Live) LiveCables(leaf, spine int) int {
	return lists.CountIf(v.dead[(leaf*v.spines+spine)*v.cables:][:v.cables], func(dead bool) bool { return !dead })
}

// CableAlive reports whether a cable between a leaf and a spine, 0..Cables()-1, is alive.
func (v *Live) CableAlive(leaf, spine, cable int) bool {
	return !v.dead[(leaf*v.spines+spine)*v.cables+cable]
}

// TopAlive reports whether the link between a pod's switch in a plane and a top switch of
// the plane is alive.
func (v *Live) TopAlive(pod, spine, top int) bool {
	return !v.dead[v.leaves*v.spines+(pod*v.spines+spine)*v.tops+top]
}

// PathAlive reports whether no link of a path between two different leaves is dead.
func (v *Live) PathAlive(a, b, path int) bool {
	k, top := v.SpineTop(path)
	if up, down := v.LaneCables(top); !v.CableAlive(a, k, up) || !v.CableAlive(b, k, down) {
		return false
	}
	return !v.AcrossPods(a, b) || v.TopAlive(v.Pod(a), k, top) && v.TopAlive(v.Pod(b), k, top)
}

// LivePaths returns the live paths between two different leaves, rising; within a pod one for each
// plane. With parallel cables all lanes count.
func (v *Live) LivePaths(a, b int) []int {
	n := v.spines
	if v.AcrossPods(a, b) || v.cables > 1 {
		n = v.Paths()
	}
	var out []int
	for path := range n {
		if v.PathAlive(a, b, path) {
			out = append(out, path)
		}
	}
	return out
}

// AliveSpines returns the spines with a live link to the leaf, rising.
func (v *Live) AliveSpines(leaf int) []int {
	var out []int
	for k := range v.spines {
		if v.Alive(leaf, k) {
			out = append(out, k)
		}
	}
	return out
}

// CommonSpines returns the spines with live links to both leaves, rising; on three levels the
// planes with a live path between the two.
func (v *Live) CommonSpines(a, b int) []int {
	var out []int
	for k := range v.spines {
		if v.Alive(a, k) && v.Alive(b, k) && v.meet(a, b, k) {
			out = append(out, k)
		}
	}
	return out
}

// meet reports whether plane k joins the pods of two leaves: some top switch is alive from both.
func (v *Live) meet(a, b, k int) bool {
	q, r := v.Pod(a), v.Pod(b)
	for top := range v.tops {
		if q != r && v.TopAlive(q, k, top) && v.TopAlive(r, k, top) {
			return true
		}
	}
	return q == r
}

// Dead returns the dead links, by LinkID, without those that never were there.
func (v *Live) Dead() []Link {
	return slices.DeleteFunc(v.Missing(), v.Absent)
}

// Absent reports whether a link is one that never was there.
func (v *Live) Absent(l Link) bool { return v.absent != nil && v.absent[v.LinkID(l)] }

// Missing returns all links that carry nothing, by LinkID: the dead ones, and those that never were
// there.
func (v *Live) Missing() []Link {
	out := []Link{}
	for id, dead := range v.dead {
		if dead {
			out = append(out, v.LinkOf(id))
		}
	}
	return out
}

// Connected returns an *UnreachableError for the first pair of leaves with servers that
// have no live path, or nil.
func (v *Live) Connected() error {
	for a, b := range v.apart {
		return &UnreachableError{a, b, v.tops > 0}
	}
	return nil
}

// Unreachable returns the pairs of leaves with servers that have no live path, rising, the
// smaller leaf first.
func (v *Live) Unreachable() [][2]int {
	var out [][2]int
	for a, b := range v.apart {
		out = append(out, [2]int{a, b})
	}
	return out
}

// apart yields the pairs of Unreachable. O(leaves²·planes + pods²·planes·tops).
func (v *Live) apart(yield func(a, b int) bool) {
	meet := make([]bool, v.pods*v.spines) // of the pod of a with all others
	for a := range v.leaves {
		if a%v.PodLeaves() == 0 {
			for i := range meet {
				meet[i] = v.meet(a, i/v.spines*v.PodLeaves(), i%v.spines)
			}
		}
		for b := a + 1; b < v.leaves; b++ {
			if v.fill[a] > 0 && v.fill[b] > 0 && !v.reach(a, b, meet[v.Pod(b)*v.spines:]) && !yield(a, b) {
				return
			}
		}
	}
}

func (v *Live) reach(a, b int, meet []bool) bool {
	for k := range v.spines {
		if meet[k] && v.Alive(a, k) && v.Alive(b, k) {
			return true
		}
	}
	return false
}

// An UnreachableError says that two leaves with servers have no live path to each other.
type UnreachableError struct {
	A, B  int
	three bool // levels
}

// Disconnected says that no plan is possible.
func (e *UnreachableError) Disconnected() {}

func (e *UnreachableError) Error() string {
	if e.three {
		return fmt.Sprintf("leaf%d and leaf%d have no live path, through a plane and, between pods, a top switch of it: their servers cannot reach each other", e.A, e.B)
	}
	return fmt.Sprintf("leaf%d and leaf%d have no spine in common that is alive: their servers cannot reach each other", e.A, e.B)
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

package topology

import "fmt"

// podsUnreachable is an *UnreachableError in the words of three levels.
type podsUnreachable struct{ UnreachableError }

func (e *podsUnreachable) Error() string {
	return fmt.Sprintf("leaf%d and leaf%d have no live path, through a plane and, between pods, a top switch of it: their servers cannot reach each other", e.A, e.B)
}

func (e *podsUnreachable) Unwrap() error { return &e.UnreachableError }

// Connected returns nil, or an error that is an *UnreachableError for the first
// pair of leaves with servers that have no live path: within a pod, no plane that
// is alive at both; between pods, no such plane with a top switch that is alive
// from both pods.
func (p *Pods) Connected() error {
	var err error
	p.apart(func(a, b int) bool {
		err = &podsUnreachable{UnreachableError{a, b}}
		return false
	})
	return err
}

// Unreachable returns the pairs of leaves with servers that have no live path,
// rising, the smaller leaf first.
func (p *Pods) Unreachable() [][2]int {
	var out [][2]int
	p.apart(func(a, b int) bool {
		out = append(out, [2]int{a, b})
		return true
	})
	return out
}

// meet reports whether a message from one pod to another can go through a plane:
// some top switch of it is alive from both. Within a pod it needs none.
func (p *Pods) meet(podA, podB, plane int) bool {
	if podA == podB {
		return true
	}
	for t := range p.tops {
		if p.TopAlive(podA, plane, t) && p.TopAlive(podB, plane, t) {
			return true
		}
	}
	return false
}

// apart calls f for the pairs of leaves with servers that have no live path,
// while it returns true. O(leaves²·planes + pods²·planes·tops).
func (p *Pods) apart(f func(a, b int) bool) {
	t := p.lower
	meet := make([]bool, p.pods*t.spines) // of the pod of a with all others
	for a := range t.leaves {
		if a%p.PodLeaves() == 0 {
			for i := range meet {
				meet[i] = p.meet(p.Pod(a), i/t.spines, i%t.spines)
			}
		}
		for b := a + 1; b < t.leaves; b++ {
			if t.fill[a] == 0 || t.fill[b] == 0 {
				continue
			}
			if !p.reach(a, b, meet[p.Pod(b)*t.spines:]) && !f(a, b) {
				return
			}
		}
	}
}

func (p *Pods) reach(a, b int, meet []bool) bool {
	for k := range p.lower.spines {
		if meet[k] && p.lower.Alive(a, k) && p.lower.Alive(b, k) {
			return true
		}
	}
	return false
}

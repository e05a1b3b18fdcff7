package survey

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"evbench/internal/lists"
	"evbench/routing"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// Sets of dead links that a permutation of leaves and spines maps onto each other make one class: it maps
// a plan of one onto a plan of the other with as many phases, and the least number of phases onto itself.
// So a plan of fors that has the least number of phases, by its bound, gives the phases of all sets of its
// class. Links that are dead before keep their leaves and spines in place; leaves change places only with
// those of as many readers, builders and servers that are both. Nothing of this holds on three levels or
// with parallel cables: there each set is planned.
type classes struct {
	whole   *topology.Tree // without the sets
	kind    []string       // by leaf: what it has in common with others; those with a dead link have their own
	spine   []string
	mu      sync.Mutex
	results map[string]*classResult
}

type classResult struct {
	once sync.Once
	out  outcome
	ok   bool // the plan has the least number of phases
}

// newClasses returns nil where there are none.
func newClasses(t *topology.Tree) *classes {
	if t.Levels() != 2 || t.Cables() > 1 {
		return nil
	}
	c := &classes{whole: t, kind: make([]string, t.Leaves()), spine: make([]string, t.Spines()), results: map[string]*classResult{}}
	for l := range c.kind {
		var n [3]int
		for r := t.First(l); r < t.First(l)+t.ServersOn(l); r++ {
			switch {
			case t.Reads(r) && t.Builds(r):
				n[0]++
			case t.Reads(r):
				n[1]++
			case t.Builds(r):
				n[2]++
			}
		}
		c.kind[l] = fmt.Sprint(n)
	}
	for _, x := range t.Dead() {
		c.kind[x.Leaf], c.spine[x.Spine] = fmt.Sprint("leaf", x.Leaf), fmt.Sprint("spine", x.Spine)
	}
	return c
}

// largestSet bounds the sets whose classes are told: the form of a class takes the factorial.
const largestSet = 4

// of returns the class of a set of links, dead beside those of the tree, and the first set of it in the
// order of leaves and spines.
func (c *classes) of(dead []topology.Link) (class string, first []topology.Link) {
	at := map[int][]topology.Link{}
	for _, x := range dead {
		at[x.Spine] = append(at[x.Spine], x)
	}
	var gone []string // whole spines
	var links []topology.Link
	goneOf := map[string]int{}
	for k := range c.spine {
		if list := at[k]; len(list) == len(c.kind) && len(list) > 1 {
			gone = append(gone, c.spine[k])
			goneOf[c.spine[k]]++
		} else {
			links = append(links, list...)
		}
	}
	if len(links) > largestSet || len(gone) > 0 && len(links) > 0 {
		return "", nil
	}
	slices.Sort(gone)
	form, order := c.least(links)
	for kind, n := range goneOf {
		for k := range c.spine {
			if n > 0 && c.spine[k] == kind {
				n--
				for l := range c.kind {
					first = append(first, topology.Link{Leaf: l, Spine: k})
				}
			}
		}
	}
	return strings.Join(gone, ",") + "|" + form, append(first, order...)
}

// least returns the least form of links over all their orders, and the links of that form on the first
// leaves and spines that there are.
func (c *classes) least(links []topology.Link) (form string, first []topology.Link) {
	permutations(len(links), func(order []int) {
		leaf, spine := newPlaces(c.kind), newPlaces(c.spine)
		var b strings.Builder
		set := make([]topology.Link, 0, len(links))
		for _, i := range order {
			l, k := leaf.of(links[i].Leaf), spine.of(links[i].Spine)
			fmt.Fprintf(&b, "%s.%d-%s.%d;", c.kind[l], l, c.spine[k], k)
			set = append(set, topology.Link{Leaf: l, Spine: k})
		}
		if form == "" || b.String() < form {
			form, first = b.String(), set
		}
	})
	return form, first
}

// places gives leaves, or spines, of one kind the first places of that kind, in the order in which they
// are met.
type places struct {
	kind []string
	to   map[int]int
	next map[string]int // from where the next place of a kind is looked for
}

func newPlaces(kind []string) *places {
	return &places{kind: kind, to: map[int]int{}, next: map[string]int{}}
}

func (p *places) of(i int) int {
	if at, met := p.to[i]; met {
		return at
	}
	kind := p.kind[i]
	at := p.next[kind]
	for p.kind[at] != kind {
		at++
	}
	p.next[kind], p.to[i] = at+1, at
	return at
}

func permutations(n int, f func(order []int)) {
	order := lists.Range[int](n)
	var rest func(from int)
	rest = func(from int) {
		if from == n {
			f(order)
			return
		}
		for i := from; i < n; i++ {
			order[from], order[i] = order[i], order[from]
			rest(from + 1)
			order[from], order[i] = order[i], order[from]
		}
	}
	rest(0)
}

// byClass returns the outcome of fors for a set from its class, and whether the class has one: the plan
// of its first set is the shortest.
func (w *whatIf) byClass(c Case, dead []topology.Link) (outcome, bool) {
	if w.classes == nil || c != (Case{schedules.FORS, routing.Pinned}) {
		return outcome{}, false
	}
	name, first := w.classes.of(dead)
	if name == "" {
		return outcome{}, false
	}
	w.classes.mu.Lock()
	r := w.classes.results[name]
	if r == nil {
		r = &classResult{}
		w.classes.results[name] = r
	}
	w.classes.mu.Unlock()
	r.once.Do(func() {
		t, err := w.classes.whole.Without(first...)
		if err != nil {
			return
		}
		if r.out, err = w.outcome(t, c); err == nil {
			r.ok = r.out.bound > 0 && r.out.Phases == r.out.bound
		}
	})
	return r.out, r.ok
}

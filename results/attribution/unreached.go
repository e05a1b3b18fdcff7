package attribution

import (
	"fmt"
	"slices"

	"evbench/internal/show"
)

// A Broken says what nothing passes.
type Broken struct {
	Name        string // with what cannot be told apart from it
	Pairs, Dead int    // of servers that were probed, and that do not reach each other
}

func (b Broken) String() string {
	return fmt.Sprintf("nothing passes %s (%d of %s)", b.Name, b.Dead, show.Plural(b.Pairs, "pair", "pairs"))
}

// Unreached says which one server, cable, direction or switch no message passes: all pairs that do not reach each other
// pass it, in one of the two directions that a probe needs, and none that do. The pairs and ways are those of the
// evidence; probe returns whether a probe was answered, and whether there was one. It is not found where there are several.
func Unreached(e Evidence, probe func(src, dst int) (answered, known bool)) (b Broken, found bool) {
	state := map[[2]int]bool{} // of two ranks, the lower first: answered
	of := func(p Pair) [2]int { return [2]int{min(p.Src, p.Dst), max(p.Src, p.Dst)} }
	for _, p := range e.Pairs {
		if yes, known := probe(p.Src, p.Dst); known {
			was, had := state[of(p)]
			state[of(p)] = yes && (was || !had)
		}
	}
	for _, yes := range state {
		if b.Pairs++; !yes {
			b.Dead++
		}
	}
	if b.Dead < 2 { // of one pair it may be anything on its way
		return b, false
	}
	all, _ := candidates(e)
	var alike []candidate
	for _, c := range all {
		dead := map[[2]int]bool{}
		passed := slices.ContainsFunc(c.pairs, func(i int) bool {
			yes, known := state[of(e.Pairs[i])]
			if known && !yes {
				dead[of(e.Pairs[i])] = true
			}
			return known && yes
		})
		if !passed && len(dead) == b.Dead {
			alike = append(alike, c)
		}
	}
	if len(alike) == 0 {
		return b, false
	}
	c, ok := name(alike, "")
	b.Name = c.Name
	return b, ok
}

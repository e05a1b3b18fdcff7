package scheduler

import (
	"iter"

	"evbench/topology"
)

// A Hop is a transfer without its line.
type Hop struct{ Phase, Src, Step, Dst int }

// Judged says of a published schedule whether it offends, else how many messages
// are second on a link, else, if asked to find places for them, how many phases
// messages within a leaf add.
func Judged(t *topology.Tree, name string, fit bool) (wrong bool, conflicts, added int) {
	p, _, err := variant(name).pattern(t)
	if err != nil {
		panic(err)
	}
	if _, wrong = p.offence(); wrong {
		return wrong, 0, 0
	}
	if conflicts, _ = p.conflicts(t); conflicts > 0 {
		return false, conflicts, 0
	}
	between := p.phases
	if fit {
		p.fit()
	}
	return false, 0, p.phases - between
}

// Stair returns the messages of a leaf in closed form, the phases they take, and
// whether those within the leaf are among them.
func Stair(t *topology.Tree) (hops iter.Seq[Hop], phases int, within bool) {
	live, err := uniform(t)
	if err != nil {
		panic(err)
	}
	p := newPattern(t, len(live))
	p.fillLine()
	within = p.within()
	return func(yield func(Hop) bool) {
		for _, h := range p.transfers {
			if !yield(Hop{h.phase, h.src, h.step, h.dst}) {
				return
			}
		}
	}, p.phases, within
}

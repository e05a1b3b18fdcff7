package scheduler

import (
	"errors"
	"fmt"
	"slices"

	"evbench/scheduler/internal/fattree"
	"evbench/topology"
)

// published returns the messages between leaves, and the spines without dead links.
func published(t *topology.Tree) (*pattern, []int, error) {
	live, err := uniform(&t.Live)
	if err == nil && t.Spines() != t.Ports() {
		err = fmt.Errorf("needs as many spines as servers on a leaf; here are %d and %d: use fors-closed", t.Spines(), t.Ports())
	}
	if err == nil && t.Leaves() < 2 {
		err = errors.New("needs at least two leaves: use fors-closed")
	}
	if err != nil {
		return nil, nil, err
	}
	p := newPattern(t.Shape, len(live))
	if err := p.check(t); err != nil {
		return nil, nil, err
	}
	p.print()
	return p, live, nil
}

// print fills the pattern as Algorithms 4 and 5 do. The line of a transfer is its index among the
// transfers of its leaf and phase. O(M0·phases).
func (p *pattern) print() {
	theta, sent := make([]int, p.m0), make([]int, p.m0)
	for a := range theta {
		theta[a] = floorDiv((a-1)*p.w, p.m0) + 1
	}
	p.transfers = make([]transfer, 0, p.m0*p.m0*(p.q+1))
	for phase := range p.phases {
		line := 0
		for a := range p.m0 {
			n := sent[a] + theta[a]
			if sent[a] == p.m0*p.q || fattree.CeilDiv(n*p.m0, p.w)-a != phase {
				continue
			}
			p.transfers = append(p.transfers, transfer{phase: phase, src: a, step: 1 + n%p.q, dst: (n + sent[a]/p.cycle()) % p.m0, line: line})
			sent[a]++
			line++
		}
	}
}

func (p *pattern) perPhase() []int {
	out := make([]int, p.phases)
	for _, h := range p.transfers {
		out[h.phase]++
	}
	return out
}

// turn returns the index of the spine that Algorithm 6 gives to a leaf's transfer: it
// gives the messages of a phase the spines in turn, in order of source.
func (p *pattern) turn(leaf int, h transfer, perPhase []int) int {
	return (leaf*perPhase[h.phase] + h.line) % p.w
}

func (p *pattern) in(phase int) []transfer {
	by := func(h transfer, phase int) int { return h.phase - phase }
	from, _ := slices.BinarySearchFunc(p.transfers, phase, by)
	to, _ := slices.BinarySearchFunc(p.transfers, phase+1, by)
	return p.transfers[from:to]
}

func floorDiv(a, b int) int {
	if a < 0 {
		return -fattree.CeilDiv(-a, b)
	}
	return a / b
}

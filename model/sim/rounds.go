package sim

import (
	"fmt"

	"evbench/barrier"
)

// rounds returns how many messages, one after the other, a barrier of n servers takes: the time
// when the last server leaves, if a signal leaves at once and its receiver handles one signal in
// each round: at most 2·⌈log2 n⌉ for the tournament, ⌈log2 n⌉ for dissemination, and n for the
// central barrier, in which rank 0 handles n-1 signals before it releases all. Kind "" has no
// rounds. O(signals).
func rounds(kind string, n int) (int, error) {
	if kind == "" || n == 1 {
		return 0, nil
	}
	m := machine{steps: make([][]barrier.Step, n), at: make([]int, n), sent: map[[2]int]int{}}
	for rank := range n {
		var err error
		if m.steps[rank], err = barrier.Steps(kind, rank, n); err != nil {
			return 0, err
		}
	}
	last := 0
	for {
		moved, left := false, false
		for rank := range n {
			moved = m.run(rank) || moved
			left = left || len(m.steps[rank]) > 0
			last = max(last, m.at[rank])
		}
		if !left {
			return last, nil
		}
		if !moved {
			return 0, fmt.Errorf("barrier %s of %d servers never ends", kind, n)
		}
	}
}

type machine struct {
	steps [][]barrier.Step // still to do, by rank
	at    []int            // round, by rank
	sent  map[[2]int]int   // round in which a signal was sent, by sender and receiver
}

// run advances a rank as far as possible, and reports whether it moved.
func (m *machine) run(rank int) (moved bool) {
	for len(m.steps[rank]) > 0 {
		s := m.steps[rank][0]
		if s.Send {
			m.sent[[2]int{rank, s.Peer}] = m.at[rank]
		} else {
			sent, ok := m.sent[[2]int{s.Peer, rank}]
			if !ok {
				return moved
			}
			m.at[rank] = max(m.at[rank], sent) + 1
		}
		m.steps[rank], moved = m.steps[rank][1:], true
	}
	return moved
}

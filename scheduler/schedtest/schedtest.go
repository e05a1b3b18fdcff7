// Package schedtest holds the test that every schedule passes: a check of what a
// schedule promises, message by message, that shares no code with what makes
// schedules.
package schedtest

import (
	"fmt"
	"slices"
	"testing"

	"evbench/scheduler"
	"evbench/topology"
)

// Check returns what is wrong with s as an all-to-all exchange on t, or nil:
// every ordered pair of servers once; in a phase at most one message from and
// one to each server; no phase empty; with a pinned schedule a live spine for
// each message between leaves and at most one message on each directed link in
// a phase; otherwise no spine at all. Messages come by phase, then source.
func Check(t *topology.Tree, s *scheduler.Schedule) error {
	n := t.Servers()
	met := make([]bool, n*n)
	busy := slices.Repeat([]int{-1}, t.Wires()) // the last phase in which a wire had a message
	before := scheduler.Message{Phase: -1, Src: n}
	messages := s.Messages()
	for _, m := range messages {
		a, b := t.Leaf(m.Src), t.Leaf(m.Dst)
		wires := []topology.Wire{t.FromServer(m.Src), t.ToServer(m.Dst)}
		switch {
		case m.Src == m.Dst:
			return fmt.Errorf("%+v: a message to self", m)
		case met[m.Src*n+m.Dst]:
			return fmt.Errorf("%+v: the pair has met before", m)
		case m.Phase != before.Phase && m.Phase != before.Phase+1, m.Phase == before.Phase && m.Src <= before.Src:
			return fmt.Errorf("%+v after %+v: a phase is empty or messages are out of order", m, before)
		case s.Pinned && a != b:
			if m.Spine < 0 || m.Spine >= t.Spines() || !t.Alive(a, m.Spine) || !t.Alive(b, m.Spine) {
				return fmt.Errorf("%+v: the spine is not alive at leaf%d and leaf%d", m, a, b)
			}
			wires = append(wires, t.Up(a, m.Spine), t.Down(b, m.Spine))
		case m.Spine != scheduler.None:
			return fmt.Errorf("%+v: a spine where none is needed or chosen", m)
		}
		for _, w := range wires {
			if busy[w] == m.Phase {
				link, direction := t.WireName(w)
				return fmt.Errorf("%+v: %s %s has a message in this phase already", m, link, direction)
			}
			busy[w] = m.Phase
		}
		met[m.Src*n+m.Dst] = true
		before = m
	}
	if len(messages) != n*(n-1) {
		return fmt.Errorf("%d of %d pairs meet", len(messages), n*(n-1))
	}
	if before.Phase != s.Phases-1 {
		return fmt.Errorf("the last message is in phase %d of %d", before.Phase, s.Phases)
	}
	return nil
}

// Run fails the test when Check does.
func Run(t testing.TB, tree *topology.Tree, s *scheduler.Schedule) {
	t.Helper()
	if err := Check(tree, s); err != nil {
		t.Fatalf("%s on %s, fill %v, %d spines, down %v: %v", s.Name, tree.Notation(), tree.Fill(), tree.Spines(), tree.DownNames(), err)
	}
}

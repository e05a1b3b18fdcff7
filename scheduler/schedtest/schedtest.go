// Package schedtest is the test that every schedule passes: it checks what a schedule
// promises, message by message, and shares no code with what makes schedules.
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
	return check(t, s, func(src, dst int) bool { return true })
}

// checkReachable is Check for a schedule that leaves out the pairs of servers
// that cannot reach each other: those never meet, the others once.
func checkReachable(t *topology.Tree, s *scheduler.Schedule) error {
	return check(t, s, func(src, dst int) bool {
		a, b := t.Leaf(src), t.Leaf(dst)
		return a == b || len(t.CommonSpines(a, b)) > 0
	})
}

// check takes the ordered pairs of servers that are to meet.
func check(t *topology.Tree, s *scheduler.Schedule, meet func(src, dst int) bool) error {
	l := newListed(t.Servers(), t.Wires())
	for _, m := range s.Messages() {
		a, b := t.Leaf(m.Src), t.Leaf(m.Dst)
		wires := []topology.Wire{t.FromServer(m.Src), t.ToServer(m.Dst)}
		if err := l.next(m); err != nil {
			return err
		}
		switch {
		case s.Pinned && a != b:
			if m.Spine < 0 || m.Spine >= t.Spines() || !t.Alive(a, m.Spine) || !t.Alive(b, m.Spine) {
				return fmt.Errorf("%+v: the spine is not alive at leaf%d and leaf%d", m, a, b)
			}
			wires = append(wires, t.Up(a, m.Spine), t.Down(b, m.Spine))
		case m.Spine != scheduler.None:
			return fmt.Errorf("%+v: a spine where none is needed or chosen", m)
		}
		if err := l.occupy(m, wires, t.WireName); err != nil {
			return err
		}
	}
	return l.end(s, meet)
}

// A listed is what was seen of a list of messages.
type listed struct {
	n      int    // servers
	met    []bool // by pair
	busy   []int  // the last phase in which a wire had a message
	before scheduler.Message
}

func newListed(servers, wires int) *listed {
	return &listed{servers, make([]bool, servers*servers), slices.Repeat([]int{-1}, wires), scheduler.Message{Phase: -1, Src: servers}}
}

// next takes a message: its pair is new, and it comes by phase, then source.
func (l *listed) next(m scheduler.Message) error {
	switch pair, before := m.Src*l.n+m.Dst, l.before; {
	case m.Src == m.Dst:
		return fmt.Errorf("%+v: a message to self", m)
	case l.met[pair]:
		return fmt.Errorf("%+v: the pair has met before", m)
	case m.Phase != before.Phase && m.Phase != before.Phase+1, m.Phase == before.Phase && m.Src <= before.Src:
		return fmt.Errorf("%+v after %+v: a phase is empty or messages are out of order", m, before)
	default:
		l.met[pair], l.before = true, m
	}
	return nil
}

// occupy puts it on its wires, which are free in its phase.
func (l *listed) occupy(m scheduler.Message, wires []topology.Wire, name func(topology.Wire) (link, direction string)) error {
	for _, w := range wires {
		if l.busy[w] == m.Phase {
			link, direction := name(w)
			return fmt.Errorf("%+v: %s %s has a message in this phase already", m, link, direction)
		}
		l.busy[w] = m.Phase
	}
	return nil
}

// end compares the list with the schedule.
func (l *listed) end(s *scheduler.Schedule, meet func(src, dst int) bool) error {
	if err := pairs(l.n, s, l.met, meet); err != nil {
		return err
	}
	if l.before.Phase != s.Phases-1 {
		return fmt.Errorf("the last message is in phase %d of %d", l.before.Phase, s.Phases)
	}
	return nil
}

// pairs compares the pairs that met with those that are to meet, and with what
// the schedule says of each.
func pairs(n int, s *scheduler.Schedule, met []bool, meet func(src, dst int) bool) error {
	for i, did := range met {
		src, dst := i/n, i%n
		if src == dst {
			continue
		}
		if want := meet(src, dst); did != want || s.Meets(src, dst) != want {
			return fmt.Errorf("%d and %d: want a message %v, in the list %v, Meets says %v", src, dst, want, did, s.Meets(src, dst))
		}
		if p, k := s.At(src, dst); !did && (p != scheduler.None || k != scheduler.None) {
			return fmt.Errorf("%d and %d never meet; At says phase %d, spine %d", src, dst, p, k)
		}
	}
	return nil
}

// Run fails the test when Check does.
func Run(t testing.TB, tree *topology.Tree, s *scheduler.Schedule) {
	t.Helper()
	fail(t, tree, s, Check(tree, s))
}

// RunReachable fails the test when checkReachable does.
func RunReachable(t testing.TB, tree *topology.Tree, s *scheduler.Schedule) {
	t.Helper()
	fail(t, tree, s, checkReachable(tree, s))
}

func fail(t testing.TB, tree *topology.Tree, s *scheduler.Schedule, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s on %s, fill %v, %d spines, down %v: %v", s.Name, tree.Notation(), tree.Fill(), tree.Spines(), tree.DownNames(), err)
	}
}

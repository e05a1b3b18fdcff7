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
// each message between leaves, between pods a live top switch of it, and at most
// one message on each wire in a phase; otherwise no spine at all. Messages come by
// phase, then source.
func Check(t *topology.Tree, s *scheduler.Schedule) error {
	return check(t, s, func(src, dst int) bool { return true })
}

// CheckReachable is Check for a schedule that leaves out the pairs of servers
// that cannot reach each other: those never meet, the others once.
func CheckReachable(t *topology.Tree, s *scheduler.Schedule) error {
	return check(t, s, func(src, dst int) bool {
		a, b := t.Leaf(src), t.Leaf(dst)
		return a == b || len(t.LivePaths(a, b)) > 0
	})
}

// check takes the ordered pairs of servers that are to meet.
func check(t *topology.Tree, s *scheduler.Schedule, meet func(src, dst int) bool) error {
	l := newListed(t.Servers(), t.Wires())
	for _, m := range s.Messages() {
		if err := l.next(m); err != nil {
			return err
		}
		if err := path(t, s.Pinned, m); err != nil {
			return err
		}
		wires := []topology.Wire{t.FromServer(m.Src), t.ToServer(m.Dst)}
		if s.Pinned {
			wires = t.Path(nil, m.Src, m.Dst, t.PathOf(m.Spine, m.Top))
		}
		if err := l.occupy(m, wires, t.WireName); err != nil {
			return err
		}
	}
	return l.end(s, meet)
}

// path returns what is wrong with the spine and the top switch of a message.
func path(t *topology.Tree, pinned bool, m scheduler.Message) error {
	a, b := t.Leaf(m.Src), t.Leaf(m.Dst)
	switch {
	case !pinned || a == b:
		if m.Spine != scheduler.None || m.Top != scheduler.None {
			return fmt.Errorf("%+v: a spine where none is needed or chosen", m)
		}
	case m.Spine < 0 || m.Spine >= t.Spines() || !t.Alive(a, m.Spine) || !t.Alive(b, m.Spine):
		return fmt.Errorf("%+v: the spine is not alive at leaf%d and leaf%d", m, a, b)
	case !t.Apart(a, b):
		if m.Top != scheduler.None {
			return fmt.Errorf("%+v: a top switch within a pod", m)
		}
	case m.Top < 0 || m.Top >= t.Pods().Tops() || !t.PathAlive(a, b, t.PathOf(m.Spine, m.Top)):
		return fmt.Errorf("%+v: the top switch is not alive from pod%d and pod%d", m, t.Pods().Pod(a), t.Pods().Pod(b))
	}
	return nil
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

// RunReachable fails the test when CheckReachable does.
func RunReachable(t testing.TB, tree *topology.Tree, s *scheduler.Schedule) {
	t.Helper()
	fail(t, tree, s, CheckReachable(tree, s))
}

func fail(t testing.TB, tree *topology.Tree, s *scheduler.Schedule, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s on %s, fill %v, %d spines, down %v: %v", s.Name, tree.Notation(), tree.Fill(), tree.Spines(), tree.DownNames(), err)
	}
}

package schedtest

import (
	"fmt"
	"testing"

	"evbench/scheduler"
	"evbench/topology"
)

// CheckPods is Check for a three-level tree: a pinned schedule names a plane for
// each message between leaves and a top switch for each between pods, all alive,
// and no wire of any level carries two messages in a phase. Pairs of servers that
// cannot reach each other never meet.
func CheckPods(p *topology.Pods, s *scheduler.Schedule) error {
	t := p.Lower()
	l := newListed(t.Servers(), p.Wires())
	for _, m := range s.Messages() {
		if err := l.next(m); err != nil {
			return err
		}
		if err := podsPath(p, s.Pinned, m); err != nil {
			return err
		}
		wires := []topology.Wire{t.FromServer(m.Src), t.ToServer(m.Dst)}
		if s.Pinned {
			wires = p.Path(nil, m.Src, m.Dst, m.Spine, m.Top)
		}
		if err := l.occupy(m, wires, p.WireName); err != nil {
			return err
		}
	}
	return l.end(s, func(src, dst int) bool { return pathOf(p, t.Leaf(src), t.Leaf(dst)) })
}

// pathOf reports whether some path between two leaves is alive.
func pathOf(p *topology.Pods, a, b int) bool {
	q, r := p.Pod(a), p.Pod(b)
	for k := range p.Lower().Spines() {
		for top := range p.Tops() {
			if p.Lower().Alive(a, k) && p.Lower().Alive(b, k) && (q == r || p.TopAlive(q, k, top) && p.TopAlive(r, k, top)) {
				return true
			}
		}
	}
	return a == b
}

// podsPath returns what is wrong with the plane and the top switch of a message.
func podsPath(p *topology.Pods, pinned bool, m scheduler.Message) error {
	t := p.Lower()
	a, b := t.Leaf(m.Src), t.Leaf(m.Dst)
	q, r := p.Pod(a), p.Pod(b)
	if !pinned || a == b {
		if m.Spine != scheduler.None || m.Top != scheduler.None {
			return fmt.Errorf("%+v: a plane or top switch where none is needed or chosen", m)
		}
		return nil
	}
	if m.Spine < 0 || m.Spine >= t.Spines() || !t.Alive(a, m.Spine) || !t.Alive(b, m.Spine) {
		return fmt.Errorf("%+v: the plane is not alive at leaf%d and leaf%d", m, a, b)
	}
	if q == r {
		if m.Top != scheduler.None {
			return fmt.Errorf("%+v: a top switch within a pod", m)
		}
		return nil
	}
	if m.Top < 0 || m.Top >= p.Tops() || !p.TopAlive(q, m.Spine, m.Top) || !p.TopAlive(r, m.Spine, m.Top) {
		return fmt.Errorf("%+v: the top switch is not alive from pod%d and pod%d", m, q, r)
	}
	return nil
}

// RunPods fails the test when CheckPods does.
func RunPods(t testing.TB, p *topology.Pods, s *scheduler.Schedule) {
	t.Helper()
	if err := CheckPods(p, s); err != nil {
		t.Fatalf("%s on %s, fill %v, down %v: %v", s.Name, p.Notation(), p.Lower().Fill(), p.DownNames(), err)
	}
}

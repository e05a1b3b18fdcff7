package scheduler_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"evbench/scheduler"
	"evbench/scheduler/schedtest"
	"evbench/topology"
	"evbench/topology/topologytest"
)

// All gives what Messages gives, and FromMessages takes both apart and together
// again, in whatever order the messages come.
func TestFromMessagesRestores(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for m0 := 1; m0 <= 6; m0++ {
		for m1 := 2; m1 <= 6; m1++ {
			o := topology.Options{Ports: m0, Leaves: m1, Fill: make([]int, m1), Spines: 1 + rng.IntN(m0+2)}
			for l := range o.Fill {
				o.Fill[l] = rng.IntN(m0 + 1)
			}
			o.Fill[0], o.Fill[1] = max(1, o.Fill[0]), max(1, o.Fill[1])
			tr := topologytest.Tree(t, o)
			if links, err := tr.Random(rng.IntN(3), rng.Uint64()); err == nil {
				tr, _ = tr.Without(links...)
			}
			for _, name := range []string{"linear-shift", "bandwidth-optimal", "fors"} {
				s, _, err := scheduler.ByName(name, tr, scheduler.Options{})
				if err != nil {
					t.Fatal(err)
				}
				ms := s.Messages()
				if all := slices.Collect(s.All()); !slices.Equal(all, ms) {
					t.Fatalf("%s on %s: All and Messages differ", name, tr.Notation())
				}
				shuffled := slices.Clone(ms)
				rng.Shuffle(len(ms), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
				again, err := scheduler.FromMessages(name, tr, nil, shuffled)
				if err != nil {
					t.Fatalf("%s on %s: %v", name, tr.Notation(), err)
				}
				schedtest.Run(t, tr, again)
				between := !slices.ContainsFunc(ms, func(m scheduler.Message) bool { return tr.Leaf(m.Src) != tr.Leaf(m.Dst) && m.Spine < 0 })
				if again.Name != name || again.Phases != s.Phases || again.Pinned != between || !slices.Equal(again.Messages(), ms) {
					t.Fatalf("%s on %s: another schedule comes back", name, tr.Notation())
				}
			}
		}
	}
}

func TestFromMessagesRefuses(t *testing.T) {
	tr := topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 2}, "leaf0-spine1")
	valid, _, err := scheduler.FORS(tr, scheduler.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		damage func(ms []scheduler.Message) []scheduler.Message
		want   string
	}{
		{"nothing", func(ms []scheduler.Message) []scheduler.Message { return ms }, ""},
		{"no messages", func([]scheduler.Message) []scheduler.Message { return nil }, "server0 never sends to server1"},
		{"one left out", func(ms []scheduler.Message) []scheduler.Message { return slices.Delete(ms, 5, 6) }, "never sends to"},
		{"one doubled", func(ms []scheduler.Message) []scheduler.Message { return append(ms, ms[5]) }, "a second time"},
		{"to itself", func(ms []scheduler.Message) []scheduler.Message { ms[5].Dst = ms[5].Src; return ms }, "sends to itself"},
		{"no such rank", func(ms []scheduler.Message) []scheduler.Message { ms[5].Dst = 4; return ms }, "there are ranks 0..3"},
		{"negative phase", func(ms []scheduler.Message) []scheduler.Message { ms[0].Phase = -1; return ms }, "a phase is empty"},
		{"late phase", func(ms []scheduler.Message) []scheduler.Message { ms[0].Phase = 1 << 30; return ms }, "a phase is empty"},
		{"empty phase", func(ms []scheduler.Message) []scheduler.Message {
			for i := range ms {
				ms[i].Phase *= 2
			}
			return ms
		}, "phase 1 is empty"},
		{"all in one phase", func(ms []scheduler.Message) []scheduler.Message {
			for i := range ms {
				ms[i].Phase = 0
			}
			return ms
		}, "in this phase"},
		{"dead spine", func(ms []scheduler.Message) []scheduler.Message { return onSpines(tr, ms, 1) }, "share no live spine1"},
		{"no such spine", func(ms []scheduler.Message) []scheduler.Message { return onSpines(tr, ms, 2) }, "share no live spine2"},
		{"needless spine", func(ms []scheduler.Message) []scheduler.Message {
			for i, m := range ms {
				if tr.Leaf(m.Src) == tr.Leaf(m.Dst) {
					ms[i].Spine = 0
				}
			}
			return ms
		}, "which need none"},
		{"some pinned", func(ms []scheduler.Message) []scheduler.Message { return onSpines(tr, ms[:], -1) }, "some have none"},
		{"top switch", func(ms []scheduler.Message) []scheduler.Message {
			for i, m := range ms {
				if m.Spine >= 0 {
					ms[i].Top = 0
				}
			}
			return ms
		}, "a top switch where none is needed"},
	} {
		_, err := scheduler.FromMessages("x", tr, nil, tt.damage(valid.Messages()))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

// onSpines gives the first message between leaves another spine.
func onSpines(tr *topology.Tree, ms []scheduler.Message, spine int) []scheduler.Message {
	for i, m := range ms {
		if tr.Leaf(m.Src) != tr.Leaf(m.Dst) {
			ms[i].Spine = spine
			return ms
		}
	}
	return ms
}

// A link that carries two messages is found, in either direction.
func TestFromMessagesContention(t *testing.T) {
	tr := topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 3, Fill: []int{2, 2, 2}})
	none := scheduler.None
	for _, tt := range []struct {
		name string
		ms   []scheduler.Message
		want string
	}{
		{"up", []scheduler.Message{{0, 0, 2, 0, none}, {0, 1, 4, 0, none}}, "leaf0-spine0 carries a second message up"},
		{"down", []scheduler.Message{{0, 0, 4, 1, none}, {0, 2, 5, 1, none}}, "leaf2-spine1 carries a second message down"},
		{"source", []scheduler.Message{{0, 0, 2, 0, none}, {0, 0, 4, 1, none}}, "server0 sends a second message"},
		{"destination", []scheduler.Message{{0, 0, 4, 0, none}, {0, 2, 4, 1, none}}, "server4 receives a second message"},
	} {
		if _, err := scheduler.FromMessages("x", tr, nil, tt.ms); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

// Pairs that cannot reach each other are absent, and only they.
func TestFromMessagesWithAbsentPairs(t *testing.T) {
	tr := topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 3}, "leaf0-spine0", "leaf1-spine1") // leaf0, leaf1 cut apart
	var ms []scheduler.Message
	for src := range tr.Servers() {
		for dst := range tr.Servers() {
			a, b := tr.Leaf(src), tr.Leaf(dst)
			if src == dst || min(a, b) == 0 && max(a, b) == 1 {
				continue
			}
			m := scheduler.Message{Phase: len(ms), Src: src, Dst: dst, Spine: scheduler.None, Top: scheduler.None}
			if a != b {
				m.Spine = tr.CommonSpines(a, b)[0]
			}
			ms = append(ms, m)
		}
	}
	s, err := scheduler.FromMessages("x", tr, nil, ms)
	if err != nil {
		t.Fatal(err)
	}
	if s.Meets(0, 2) || s.Meets(3, 1) || !s.Meets(0, 4) || !slices.Equal(slices.Collect(s.All()), ms) {
		t.Error("other pairs meet than were given")
	}
	over := append(slices.Clone(ms), scheduler.Message{Phase: len(ms), Src: 0, Dst: 2, Spine: 0, Top: scheduler.None})
	if _, err := scheduler.FromMessages("x", tr, nil, over); err == nil || !strings.Contains(err.Error(), "leaf0 and leaf1 share no live path") {
		t.Errorf("a message between leaves cut apart: error %v", err)
	}
}

// apart returns the schedule of a three-level tree that sends every message in a
// phase of its own, over the first path.
func apart(t *testing.T, p *topology.Pods) []scheduler.Message {
	t.Helper()
	var ms []scheduler.Message
	tr := p.Lower()
	for src := range tr.Servers() {
		for dst := range tr.Servers() {
			if src == dst {
				continue
			}
			m := scheduler.Message{Phase: len(ms), Src: src, Dst: dst, Spine: scheduler.None, Top: scheduler.None}
			if a, b := tr.Leaf(src), tr.Leaf(dst); a != b {
				if m.Spine = 0; p.Pod(a) != p.Pod(b) {
					m.Top = 1
				}
			}
			ms = append(ms, m)
		}
	}
	return ms
}

func TestFromMessagesThreeLevels(t *testing.T) {
	p, err := topology.NewPods(topology.Options{Ports: 2, Leaves: 4, Pods: 2})
	if err != nil {
		t.Fatal(err)
	}
	ms := apart(t, p)
	s, err := scheduler.FromMessages("apart", nil, p, ms)
	if err != nil {
		t.Fatal(err)
	}
	if !s.Pinned || s.Top(0, 7) != 1 || s.Top(0, 2) != scheduler.None || !slices.Equal(slices.Collect(s.All()), ms) {
		t.Errorf("another schedule comes back: pinned %v, top %d, %d", s.Pinned, s.Top(0, 7), s.Top(0, 2))
	}
	far := slices.IndexFunc(ms, func(m scheduler.Message) bool { return m.Top == 1 })
	for _, tt := range []struct {
		top  int
		want string
	}{{2, "pod0 and pod1 share no live top2 of spine0"}, {scheduler.None, "a top switch is missing"}} {
		bad := slices.Clone(ms)
		bad[far].Top = tt.top
		if _, err := scheduler.FromMessages("x", nil, p, bad); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("top %d: error %v, want %q", tt.top, err, tt.want)
		}
	}
	dead, err := p.Without(nil, []topology.TopLink{{Pod: 1, Spine: 0, Top: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := scheduler.FromMessages("x", nil, dead, ms); err == nil || !strings.Contains(err.Error(), "no live top1") {
		t.Errorf("a dead top link: error %v", err)
	}
	// leaf0 and leaf1 both to pod 1, over one top switch
	both := []scheduler.Message{{Phase: 0, Src: 0, Dst: 4, Spine: 0, Top: 1}, {Phase: 0, Src: 2, Dst: 6, Spine: 0, Top: 1}}
	if _, err := scheduler.FromMessages("x", nil, p, both); err == nil || !strings.Contains(err.Error(), "pod0-spine0-top1 carries a second message up") {
		t.Errorf("contention above a pod: error %v", err)
	}
}

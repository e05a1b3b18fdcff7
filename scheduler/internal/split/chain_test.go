package split

import (
	"slices"
	"testing"

	"evbench/scheduler/internal/fattree"
	"evbench/testing/expect"
	"evbench/topology"
)

// TestApplyUndoes shows that a chain which does not help leaves all as it was.
func TestApplyUndoes(t *testing.T) {
	tr := expect.Value(topology.New(topology.Options{Ports: 3, Leaves: 2}))(t)
	f := fattree.New(tr)
	f.Share()
	w := NewFluid(f)
	w.Ceiling = 3
	s := w.round(0) // 3 messages each way on each of 3 spines
	const sender, receiver = 0, 3
	s.Add(sender, receiver, 0, -3)
	s.Add(sender, receiver, 1, 3)
	r := newChain(s, nil)
	x, load, over := slices.Clone(s.X), slices.Clone(s.Load), s.Over
	for _, tt := range []struct {
		name  string
		queue []hop
		want  bool
	}{
		{"to a full spine", []hop{{sender, 1, none}, {receiver, 2, 0}}, false},
		{"a message that is not there", []hop{{sender, 1, none}, {receiver, 0, 0}, {sender, 2, 1}}, false},
		{"to an empty spine", []hop{{sender, 1, none}, {receiver, 0, 0}}, true},
	} {
		r.queue = tt.queue
		got := r.apply(tt.queue[len(tt.queue)-1])
		same := slices.Equal(x, s.X) && slices.Equal(load, s.Load) && s.Over == over
		expect.True(t, got == tt.want && same != got, "%s: apply = %v, unchanged %v, want apply = %v", tt.name, got, same, tt.want)
	}
	expect.True(t, s.repair() && s.Over == 0 && slices.Max(s.Load) <= s.Ceiling, "not repaired: loads %v", s.Load)
}

package controller

import (
	"testing"

	"evbench/internal/wire"
)

// The place of one who has been here long goes first, of the host with most places.
func TestWorstGuest(t *testing.T) {
	at := func(hosts ...string) (gs guests) {
		for _, h := range hosts {
			gs = append(gs, guest{new(wire.NetConn), h})
		}
		return gs
	}
	for _, tt := range []struct {
		name  string
		hosts []string
		want  int
	}{
		{"one", []string{"a"}, 0},
		{"a path has no hosts", []string{"", "", ""}, 0},
		{"one has many", []string{"a", "b", "c", "b", "b"}, 1},
		{"the last one has many", []string{"a", "b", "b"}, 1},
		{"all have as many", []string{"a", "b", "b", "a"}, 0},
	} {
		gs := at(tt.hosts...)
		worst := gs[tt.want]
		if got := gs.worst(); got != worst {
			t.Errorf("%s: %+v goes, want number %d", tt.name, got, tt.want)
		}
		if first, second := gs.leave(worst.conn), gs.leave(worst.conn); !first || second || len(gs) != len(tt.hosts)-1 {
			t.Errorf("%s: %v, then %v; %d are left of %d", tt.name, first, second, len(gs), len(tt.hosts))
		}
	}
}

package port_test

import (
	"net"
	"testing"

	"evbench/internal/expect"
	"evbench/internal/port"
)

// The place of one who has been here long goes first, of the host with most places.
func TestWorstGuest(t *testing.T) {
	at := func(hosts ...string) (gs port.Strangers) {
		for _, h := range hosts {
			gs.Come(port.Stranger{Conn: &net.TCPConn{}, From: h})
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
		want := gs[tt.want]
		if got, found := gs.Go(); got != want || !found {
			t.Errorf("%s: %+v goes, want number %d", tt.name, got, tt.want)
		}
		expect.True(t, !gs.Leave(want.Conn) && len(gs) == len(tt.hosts)-1, "%s: %d are left of %d", tt.name, len(gs), len(tt.hosts))
		if n := len(gs); n > 0 && (!gs.Leave(gs[n-1].Conn) || len(gs) != n-1) {
			t.Errorf("%s: the last one cannot leave", tt.name)
		}
	}
	var none port.Strangers
	if g, found := none.Go(); found {
		t.Errorf("%+v goes, and nobody is here", g)
	}
}

// There are so many places and no more: who comes then takes that of another one.
func TestGuestsAreBounded(t *testing.T) {
	var gs port.Strangers
	gone := 0
	for range 2000 {
		if _, full := gs.Come(port.Stranger{Conn: &net.TCPConn{}}); full {
			gone++
		}
	}
	expect.True(t, len(gs) == 1024 && gone == 2000-1024, "%d are here, %d had to go", len(gs), gone)
}

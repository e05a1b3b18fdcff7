package port_test

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"evbench/internal/port"
	"evbench/testing/expect"
)

// Accept passes over errors, with a pause after each, and ends with the port or
// with quit.
func TestAccept(t *testing.T) {
	for _, tt := range []struct {
		name string
		last error // nil: quit is closed instead
	}{{"the port is closed", &net.OpError{Err: net.ErrClosed}}, {"quit", nil}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				script := []error{nil, syscall.EMFILE, syscall.ECONNABORTED, nil, tt.last}
				quit := make(chan struct{})
				accept := func() (int, error) {
					err := script[0]
					if script = script[1:]; len(script) == 0 && tt.last == nil {
						close(quit)
						err = syscall.ENOMEM
					}
					return len(script), err
				}
				var took []int
				var told []error
				began := time.Now()
				port.Accept(accept, quit, func(i int) { took = append(took, i) }, func(err error) { told = append(told, err) })
				expect.False(t, fmt.Sprint(took) != "[4 1]" || len(told) < 2 || !errors.Is(told[0], syscall.EMFILE) || !errors.Is(told[1], syscall.ECONNABORTED),
					"took %v, told %v", took, told)
				d := time.Since(began)
				expect.True(t, d == 100*time.Millisecond, "it took %v, want a pause after each of two errors", d)
			})
		})
	}
}

func TestProof(t *testing.T) {
	a, b := port.Nonce(), port.Nonce()
	expect.True(t, a != b, "a nonce was drawn twice")
	p := port.Proof("secret", "one", a[:], b[:])
	for _, tt := range []struct {
		name  string
		proof []byte
		token string
		role  string
		parts [][]byte
		want  bool
	}{
		{"the same", p[:], "secret", "one", [][]byte{a[:], b[:]}, true},
		{"its beginning", p[:16], "secret", "one", [][]byte{a[:], b[:]}, true},
		{"too little of it", p[:15], "secret", "one", [][]byte{a[:], b[:]}, false},
		{"too much", append(p[:], 0), "secret", "one", [][]byte{a[:], b[:]}, false},
		{"nothing", nil, "secret", "one", [][]byte{a[:], b[:]}, false},
		{"another token", p[:], "Secret", "one", [][]byte{a[:], b[:]}, false},
		{"another role", p[:], "secret", "two", [][]byte{a[:], b[:]}, false},
		{"the other way round", p[:], "secret", "one", [][]byte{b[:], a[:]}, false},
		{"one part", p[:], "secret", "one", [][]byte{append(a[:], b[:]...)}, false},
		{"an empty part more", p[:], "secret", "one", [][]byte{a[:], b[:], nil}, false},
	} {
		expect.Equal(t, port.Proven(tt.proof, tt.token, tt.role, tt.parts...), tt.want, "%s: Proven", tt.name)
	}
}

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
		got, found := gs.Go()
		expect.True(t, got == want && found, "%s: %+v goes, want number %d", tt.name, got, tt.want)
		expect.True(t, !gs.Leave(want.Conn) && len(gs) == len(tt.hosts)-1, "%s: %d are left of %d", tt.name, len(gs), len(tt.hosts))
		n := len(gs)
		expect.False(t, n > 0 && (!gs.Leave(gs[n-1].Conn) || len(gs) != n-1), "%s: the last one cannot leave", tt.name)
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

package tcp

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"evbench/testing/expect"
)

// A call puts up with a peer that has no route yet, for as long as it may, and with nothing else.
func TestPatience(t *testing.T) {
	for _, tt := range []struct {
		patient bool
		err     error
		tried   bool // again
	}{
		{true, unix.ENETUNREACH, true}, {true, unix.EHOSTUNREACH, true}, {true, unix.ECONNREFUSED, false},
		{true, nil, false}, {false, unix.ENETUNREACH, false},
	} {
		c := &call{until: time.Now().Add(-time.Second)}
		if tt.patient {
			c.until = time.Now().Add(time.Hour)
		}
		err := c.excuse(tt.err)
		expect.False(t, tt.tried != !c.again.IsZero() || tt.tried != (err == nil && tt.err != nil) || !tt.tried && !errors.Is(err, tt.err),
			"%+v: error %v, again %v", tt, err, c.again)
	}
}

// An attempt that is tried again while the one before goes on, or has succeeded, goes on. The
// queue of the listener is too short for all.
func TestConnectAgain(t *testing.T) {
	l := expect.Value(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))(t)
	defer unix.Close(l)
	err := errors.Join(unix.Bind(l, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(l, 0))
	at, nameErr := unix.Getsockname(l)
	expect.Must(t, errors.Join(err, nameErr))
	for range 8 {
		c := &call{to: fmt.Sprintf("127.0.0.1:%d", at.(*unix.SockaddrInet4).Port)}
		expect.Must(t, c.socket(&Options{}))
		defer unix.Close(c.fd)
		for range 3 {
			expect.OK(t, c.connect())
		}
	}
}

// A call whose time has come is begun, others wait.
func TestDue(t *testing.T) {
	fd := expect.Value(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0))(t)
	defer unix.Close(fd)
	l := expect.Value(Listen(Options{Addr: "127.0.0.1:0"}))(t)
	defer l.Close()
	now := &call{fd: fd, to: l.Addr(), again: time.Now()}
	later := &call{fd: -1, again: time.Now().Add(time.Hour)}
	done := &call{fd: -1, stage: opened}
	waiting, err := due([]*call{now, later, done})
	expect.True(t, err == nil && waiting && now.underWay() && !later.underWay() && !done.underWay(), "waiting %v, %v; %+v", waiting, err, now)
	if waiting, err := due([]*call{now, done}); err != nil || waiting {
		t.Errorf("waiting %v, %v", waiting, err)
	}
}

func TestSpinnerGivesUpWhereWaitsAreLong(t *testing.T) {
	s := spinSignal
	looks := 0
	never := func() bool { looks++; return false }
	// tried[i]: whether wait i looked at all. After k misses in a row 2^k-1 waits go by.
	want := []bool{true, false, true, false, false, false, true}
	for i, w := range want {
		before := looks
		expect.MustTrue(t, !s.until(never), "it is never ready")
		expect.Equal(t, looks > before, w, "wait %d: tried", i)
	}
	for range 1000 {
		s.until(never)
	}
	waits := 1 // until the next that is tried
	for before := looks; ; waits++ {
		if s.until(never); looks > before {
			break
		}
	}
	expect.True(t, waits <= 1<<s.most, "%d waits go by without a try, want at most %d", waits, 1<<s.most)
}

func TestSpinnerComesBack(t *testing.T) {
	s := spinSignal
	s.until(func() bool { return false }) // a miss: the next wait goes by
	ready := func() bool { return true }
	expect.True(t, !s.until(ready), "the wait after a miss was tried")
	for i := range 3 {
		expect.True(t, s.until(ready), "wait %d after a hit was not tried", i)
	}
}

package main

import (
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

const (
	beat = 20 * time.Millisecond
	// halting is from when on a pulse says that the machine has halted.
	halting = 60 * time.Millisecond
)

// pulse notes, while the program measures, when the machine itself was slow: a process
// that only wants to run for a moment did not, or the kernel did not change links. All
// network namespaces of a machine share one lock for that, and others take it, too.
func (g *stage) pulse() {
	since, ok := g.main.measures()
	if !ok {
		return
	}
	for next, err := time.Now(), error(nil); g.main.until(next); next = time.Now().Add(beat) {
		if err == nil {
			err = touch() // who is not allowed to has the clock alone
		}
		if late := time.Since(next); late > halting {
			g.seen.Halts = append(g.seen.Halts, Stop{At: next.Sub(since), For: late})
		}
	}
}

// touch has the kernel set nothing about the loopback interface and returns when it has:
// it takes the lock for that all the same.
func touch() error {
	ask := nl.NewNetlinkRequest(unix.RTM_SETLINK, unix.NLM_F_ACK)
	about := nl.NewIfInfomsg(unix.AF_UNSPEC)
	about.Index = 1
	ask.AddData(about)
	_, err := ask.Execute(unix.NETLINK_ROUTE, 0)
	return err
}

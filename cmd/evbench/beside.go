package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prometheus/procfs"

	"evbench/bench"
	"evbench/internal/answer"
	"evbench/results"
)

// beside looks at this machine during a run: between rounds for other measurements, and for packets
// that the kernel itself dropped. Where the answer is not known, or links lost packets, it names them
// in the manifest, before that is written.
type beside struct {
	started bool // a launcher starts each rank with the arguments of this one
	found   []int
	full    func() uint32 // packets that found the kernel's queue full, since it was started
	before  uint32        // when the run began
}

func (b *beside) update(e any, to *results.Manifest) {
	switch e := e.(type) {
	case bench.Begun:
		b.before = b.full()
		b.look()
	case bench.RoundDone:
		b.look()
	case bench.Ended:
		b.look()
		if a := e.Summary.Answer; a != nil && a.Verdict == answer.Unknown && len(b.found) > 0 {
			to.Warnings = append(to.Warnings, fmt.Sprintf("another evbench was running on this machine (process %s): both disturb each other",
				strings.ReplaceAll(strings.Trim(fmt.Sprint(b.found[:min(4, len(b.found))]), "[]"), " ", ", ")))
		}
		if n := b.full() - b.before; n > 0 && slices.ContainsFunc(e.Summary.Cases, func(c results.Case) bool { return c.Drops > 0 }) {
			to.Warnings = append(to.Warnings, fmt.Sprintf("this machine's queue of received packets was full for %d packets, which the kernel dropped: root can make it longer, sysctl -w net.core.netdev_max_backlog=10000", n))
		}
	}
}

// queueFull counts the packets that the kernel dropped since its queue of received packets was full.
func queueFull() (n uint32) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return 0
	}
	all, _ := proc.NetSoftnetStat()
	for _, cpu := range all {
		n += cpu.Dropped
	}
	return n
}

func (b *beside) look() {
	for _, pid := range measuring(os.Getpid(), b.started) {
		if !slices.Contains(b.found, pid) {
			b.found = append(b.found, pid)
		}
	}
}

// measuring returns the processes of evbench that measure, as far as they are visible, without those
// that a process descends from or has started, and without those with the same arguments if alike.
func measuring(self int, alike bool) (pids []int) {
	all, err := procfs.AllProcs()
	if err != nil {
		return nil
	}
	parent, args := map[int]int{}, map[int][]string{}
	for _, p := range all {
		if stat, err := p.Stat(); err == nil {
			parent[p.PID] = stat.PPID
		}
		args[p.PID], _ = p.CmdLine()
	}
	descends := func(of, from int) bool {
		for ; of > 0 && of != from; of = parent[of] {
		}
		return of > 0
	}
	for _, p := range all {
		a := args[p.PID]
		if len(a) < 2 || !slices.Contains([]string{"run", "accuracy", "controller"}, a[1]) {
			continue
		}
		program, _ := p.Executable()
		if filepath.Base(a[0]) != "evbench" && filepath.Base(program) != "evbench" ||
			descends(p.PID, self) || descends(self, p.PID) || alike && slices.Equal(a, args[self]) {
			continue
		}
		pids = append(pids, p.PID)
	}
	return pids
}

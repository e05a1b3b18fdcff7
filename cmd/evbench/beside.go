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

// beside looks between the rounds of a run for other measurements on this machine. Where the answer
// is not known, it names them in the manifest, before that is written.
type beside struct {
	started bool // a launcher starts each rank with the arguments of this one
	found   []int
}

func (b *beside) update(e any, to *results.Manifest) {
	switch e := e.(type) {
	case bench.Begun, bench.RoundDone:
		b.look()
	case bench.Ended:
		b.look()
		if a := e.Summary.Answer; a != nil && a.Verdict == answer.Unknown && len(b.found) > 0 {
			to.Warnings = append(to.Warnings, fmt.Sprintf("another evbench was running on this machine (process %s): both disturb each other",
				strings.ReplaceAll(strings.Trim(fmt.Sprint(b.found[:min(4, len(b.found))]), "[]"), " ", ", ")))
		}
	}
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

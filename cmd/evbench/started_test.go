package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"evbench/fabric/host"
	"evbench/fabric/open"
	"evbench/internal/expect"
	"evbench/results"
	"evbench/results/store"
)

const startedScenario = `
topology: FT(2;2,2)
fabric: {kind: hosts}
launch: {kind: started, control: "unix:c"}
event: {fragment: 16KiB}
duration: %s
interval: 100ms
timeout: 30s
control: off
cases: [{name: one, schedule: linear-shift}, {name: two, mode: unsynchronised}]
`

// together starts five ranks as a launcher does; rank 2 is the controller.
func together(t *testing.T, dir, duration string) []*program {
	t.Helper()
	write(t, dir, "s.yaml", fmt.Sprintf(startedScenario, duration))
	t.Setenv("PMI_SIZE", "5")
	t.Setenv("EVBENCH_TOKEN", "secret")
	var ranks []*program
	for rank := range 5 {
		t.Setenv("PMI_RANK", fmt.Sprint(rank))
		ranks = append(ranks, begin(t, dir, "run", "--rounds", "1", "s.yaml", "-o", "out", "--controller-rank", "2"))
	}
	return ranks
}

func TestStartedTogether(t *testing.T) {
	dir := t.TempDir()
	for rank, p := range together(t, dir, "300ms") {
		code, said := p.end()
		expect.False(t, code != exitDone && (rank != 2 || code != exitInvalid), "rank %d ended with %d:\n%s", rank, code, said)
		expect.True(t, (said == "") != (rank == 2), "rank %d said %q", rank, said)
	}
	r := expect.Value(store.Read(filepath.Join(dir, "out")))(t)
	m := r.Manifest
	expect.True(t, m.Control == "unix:c" && m.Transport == "tcp" && m.IO == "auto" && m.Launch == "started",
		"manifest: control %q, transport %q, io %q, launch %q", m.Control, m.Transport, m.IO, m.Launch)
	for _, c := range r.Summary.Cases {
		expect.True(t, c.Complete && c.EventsBuilt != 0 && c.EventsLost+c.EventsDuplicate <= 0, "%+v", c)
	}
}

// A rank that is lost ends the run, and nothing that was measured counts.
func TestStartedRankLost(t *testing.T) {
	dir := t.TempDir()
	ranks := together(t, dir, "1h")
	ranks[2].await("one: measure")
	expect.Must(t, ranks[4].cmd.Process.Kill())
	code, said := ranks[2].end()
	expect.True(t, code == exitFailed && strings.Contains(said, "server 3"), "the controller ended with %d:\n%s", code, said)
	marked(t, dir)
}

// A launcher that is told to end passes it on to all ranks at once: the servers
// stay until the controller has what they did.
func TestStartedInterrupted(t *testing.T) {
	dir := t.TempDir()
	ranks := together(t, dir, "1h")
	ranks[2].await("one: measure")
	for _, p := range ranks {
		expect.Must(t, p.cmd.Process.Signal(syscall.SIGTERM))
	}
	for rank, p := range ranks {
		want := exitDone
		if rank == 2 {
			want = exitTerminated
		}
		code, said := p.end()
		expect.True(t, code == want, "rank %d ended with %d:\n%s", rank, code, said)
	}
	c := marked(t, dir)
	expect.True(t, c != nil && c.EventsBuilt != 0, "what was measured is gone")
}

// marked wants results that are there, and marked as incomplete.
func marked(t *testing.T, dir string) *results.Case {
	t.Helper()
	r := expect.Value(store.Read(filepath.Join(dir, "out")))(t)
	if len(r.Summary.Cases) != 1 || r.Summary.Complete || r.Manifest.Complete || r.Summary.Cases[0].Valid {
		t.Errorf("an incomplete run is not marked: %+v", r.Summary)
		return nil
	}
	return &r.Summary.Cases[0]
}

func TestQuietly(t *testing.T) {
	at := open.Place{By: "PMI_RANK", Rank: 3, Size: 5, Local: 1}
	why := errors.New("wrong")
	if err := quietly(at, why, 3); err != why {
		t.Errorf("the rank that prints has %v", err)
	}
	if err := quietly(at, why, 0); exitCode(nil, err, os.Stderr) != exitDone {
		t.Errorf("a rank that does not print has %v", err)
	}
	if err := quietly(at, nil, 0); err != nil {
		t.Errorf("nothing is wrong, but %v", err)
	}
	at.Local = 0
	if err := quietly(at, &host.MemoryError{Text: "small"}, 0); err == nil || err.Error() != "small" {
		t.Errorf("the first rank of a small machine has %v", err)
	}
}

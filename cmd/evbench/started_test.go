package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"evbench/results"
	"evbench/results/csv"
	"evbench/scenario"
)

func TestControlOf(t *testing.T) {
	tcp := scenario.Scenario{Transport: scenario.TCP}
	said := scenario.Scenario{Transport: scenario.MPI, Launch: scenario.Launch{Control: "tcp:node001:7000"}}
	wrong := scenario.Scenario{Launch: scenario.Launch{Control: "node001:7000"}}
	for _, tt := range []struct {
		name       string
		s          scenario.Scenario
		at         place
		controller int
		want       string // "": an error
	}{
		{"as the scenario says", said, place{size: 9}, 0, "tcp:node001:7000"},
		{"no address", wrong, place{size: 9}, 0, ""},
		{"MPI", scenario.Scenario{Transport: scenario.MPI}, place{size: 9}, 0, "mpi"},
		{"one machine", tcp, place{size: 9, locals: 9}, 3, "tcp:127.0.0.1:7777"},
		{"first host of Slurm", tcp, place{size: 9, locals: 3, first: "node007"}, 0, "tcp:node007:7777"},
		{"controller on another host", tcp, place{size: 9, locals: 3, first: "node007"}, 8, ""},
		{"not known", tcp, place{size: 9, locals: 3}, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := controlOf(&tt.s, tt.at, tt.controller)
			if got != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

// The controller listens at the address that the workers dial, where that is known.
func TestListenOn(t *testing.T) {
	here := []string{"127.0.0.1", "127.0.1.1", "10.0.0.7", "10.1.0.7"}
	lookup := func(host string) ([]string, error) {
		found := map[string][]string{"node001": {"10.0.0.7"}, "debian": {"127.0.1.1"}, "two": {"10.0.0.7", "10.1.0.7"}, "elsewhere": {"10.9.0.7"}}[host]
		if found == nil {
			return nil, errors.New("no such host")
		}
		return found, nil
	}
	for control, want := range map[string]string{
		"tcp:node001:7777": "tcp:10.0.0.7:7777", "tls:node001:7777": "tls:10.0.0.7:7777", "tcp:debian:7777": "tcp::7777", "tls:two:7777": "tls::7777",
		"tcp:elsewhere:7777": "tcp::7777", "tcp:unknown:7777": "tcp::7777",
		"tcp:127.0.0.1:7777": "tcp:127.0.0.1:7777", "tcp:[fd00::1]:7": "tcp:[fd00::1]:7", "unix:/a": "unix:/a",
	} {
		if got := listenOn(control, here, lookup); got != want {
			t.Errorf("listenOn(%q) = %q, want %q", control, got, want)
		}
	}
}

// Servers are the ranks in their order, without the controller's.
func TestServerOfRank(t *testing.T) {
	var got []int
	for rank := range 5 {
		if r := (started{at: place{rank: rank}, controller: 2}); rank != 2 {
			got = append(got, r.server())
		}
	}
	if fmt.Sprint(got) != "[0 1 2 3]" {
		t.Errorf("servers %v", got)
	}
}

func TestMPIAddress(t *testing.T) {
	if rank, err := parseMPIAddress(mpiAddress(7)); rank != 7 || err != nil {
		t.Errorf("rank %d, %v", rank, err)
	}
	for _, bad := range []string{"", "mpi:", "mpi:-1", "7", "127.0.0.1:7000"} {
		if _, err := parseMPIAddress(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

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
		if code != exitDone && (rank != 2 || code != exitInvalid) {
			t.Errorf("rank %d ended with %d:\n%s", rank, code, said)
		}
		if (said == "") == (rank == 2) {
			t.Errorf("rank %d said %q", rank, said)
		}
	}
	r, err := csv.Read(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	m := r.Manifest
	if m.Control != "unix:c" || m.Transport != "tcp" || m.IO != "auto" || m.Launch != "started" {
		t.Errorf("manifest: control %q, transport %q, io %q, launch %q", m.Control, m.Transport, m.IO, m.Launch)
	}
	for _, c := range r.Summary.Cases {
		if !c.Complete || c.EventsBuilt == 0 || c.EventsLost+c.EventsDuplicate > 0 {
			t.Errorf("%+v", c)
		}
	}
}

// A rank that is lost ends the run, and nothing that was measured counts.
func TestStartedRankLost(t *testing.T) {
	dir := t.TempDir()
	ranks := together(t, dir, "1h")
	ranks[2].await("one: measure")
	if err := ranks[4].cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if code, said := ranks[2].end(); code != exitFailed || !strings.Contains(said, "server 3") {
		t.Errorf("the controller ended with %d:\n%s", code, said)
	}
	marked(t, dir)
}

// A launcher that is told to end passes it on to all ranks at once: the servers
// stay until the controller has what they did.
func TestStartedInterrupted(t *testing.T) {
	dir := t.TempDir()
	ranks := together(t, dir, "1h")
	ranks[2].await("one: measure")
	for _, p := range ranks {
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	for rank, p := range ranks {
		want := exitDone
		if rank == 2 {
			want = exitTerminated
		}
		if code, said := p.end(); code != want {
			t.Errorf("rank %d ended with %d:\n%s", rank, code, said)
		}
	}
	if c := marked(t, dir); c == nil || c.EventsBuilt == 0 {
		t.Error("what was measured is gone")
	}
}

// marked wants results that are there, and marked as incomplete.
func marked(t *testing.T, dir string) *results.Case {
	t.Helper()
	r, err := csv.Read(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Summary.Cases) != 1 || r.Summary.Complete || r.Manifest.Complete || r.Summary.Cases[0].Valid {
		t.Errorf("an incomplete run is not marked: %+v", r.Summary)
		return nil
	}
	return &r.Summary.Cases[0]
}

func TestQuietly(t *testing.T) {
	at := place{by: "PMI_RANK", rank: 3, size: 5, local: 1}
	why := errors.New("wrong")
	if err := at.quietly(why, 3); err != why {
		t.Errorf("the rank that prints has %v", err)
	}
	if err := at.quietly(why, 0); exitCode(nil, err, os.Stderr) != exitDone {
		t.Errorf("a rank that does not print has %v", err)
	}
	if err := at.quietly(nil, 0); err != nil {
		t.Errorf("nothing is wrong, but %v", err)
	}
	at.local = 0
	if err := at.quietly(&machineError{"small"}, 0); err == nil || err.Error() != "small" {
		t.Errorf("the first rank of a small machine has %v", err)
	}
}

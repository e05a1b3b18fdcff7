package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evbench/results/csv"
)

const placedScenario = `
topology: FT(2;2,2)
fabric: {kind: hosts}
event: {fragment: 16KiB}
duration: 100ms
interval: 100ms
timeout: 4s
control: off
cases: [{name: one, schedule: linear-shift, routing: pinned}]
`

// In a routed network of namespaces, workers find their addresses by themselves,
// and the preflight finds workers with the wrong position by the number of
// routers between them. With the right ones, a plan that chooses spines runs.
func TestPreflightInLab(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "hosts.yaml", placedScenario)
	write(t, dir, "token", "secret\n")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	evbench := filepath.Join(dir, "evbench")
	if err := os.Symlink(self, evbench); err != nil {
		t.Fatal(err)
	}
	if code, out, said := output(t, dir, "lab", "up", "-t", "FT(2;2,2)"); code != exitDone {
		t.Fatalf("lab up ended with %d:\n%s%s", code, out, said)
	}
	defer output(t, dir, "lab", "down")

	// place runs the scenario on servers of the lab, the i-th with position at[i].
	place := func(out string, at ...int) (int, string) {
		socket := "unix:" + filepath.Join(dir, out+"-control")
		controller := begin(t, dir, "controller", "hosts.yaml", "--listen", socket, "--token-file", "token", "-o", out)
		var workers []*program
		for i, id := range at {
			workers = append(workers, begin(t, dir, "lab", "exec", fmt.Sprint("server", i), evbench, "worker",
				"--controller", socket, "--token-file", filepath.Join(dir, "token"), "--id", fmt.Sprint(id), "--network", "10.0.0.0/8"))
		}
		code, said := controller.end()
		for _, w := range workers {
			w.end()
		}
		return code, said
	}
	code, said := place("wrong", 0, 2, 1, 3)
	for _, want := range []string{
		"server1 seems to sit on leaf", "server2 seems to sit on leaf", "3 hops to server",
		"leaves are told apart by hops: 1 hop within a leaf, 3 hops between leaves",
	} {
		if code != exitFailed || !strings.Contains(said, want) {
			t.Errorf("with the wrong positions it ended with %d, without %q:\n%s", code, want, said)
		}
	}
	if code, said := place("right", 0, 1, 2, 3); code != exitDone && code != exitInvalid {
		t.Fatalf("with the right positions it ended with %d:\n%s", code, said)
	}
	r, err := csv.Read(filepath.Join(dir, "right"))
	if err != nil {
		t.Fatal(err)
	}
	m := r.Manifest
	if want := "leaves are told apart by hops: 1 hop within a leaf, 3 hops between leaves; they are as the file says"; !slices.Contains(m.Preflight, want) {
		t.Errorf("preflight %q, want %q", m.Preflight, want)
	}
	addresses := []string{"10.200.1.1:7000", "10.0.1.1:7000", "10.1.1.1:7000"}
	if h := m.Hosts[2]; !slices.Equal(h.Addresses, addresses) || h.Interface != "leaf1" || h.MTU != 9000 {
		t.Errorf("server2 is %+v, want addresses %v on leaf1", h, addresses)
	}
}

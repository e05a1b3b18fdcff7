package scenario_test

import (
	"testing"
	"time"

	"evbench/internal/expect"
	"evbench/scenario"
	"evbench/transport"
)

const cluster = small + `fabric: hosts
launch: {kind: ssh, hosts: "node[001-016]", user: daq, port: 2222, remote_dir: /var/tmp/evbench, network: 10.1.0.0/16, cpus: "0-7,16"}
inject: {kind: command, down: "down {link}", up: "up {link}", probe: "is-up {link}", timeout: 5s}
cases:
  - {name: a, routing: minhop, failures: [leaf0-spine0, {link: leaf1-spine1, at: 1s, for: 2s}]}
`

// Over a transport that chooses no paths pinned plans have one from a leaf to a server; others
// have what they say.
func TestObjective(t *testing.T) {
	for _, tt := range []struct {
		text, want string
		one        bool
	}{
		{"cases: [{schedule: fors}]", "", false},
		{"cases: [{schedule: fors, objective: balanced}]", "balanced", false},
		{"cases: [{mode: ordered, objective: paths}]", "paths", false},
		{"transport: mpi\ncases: [{schedule: fors}]", "paths", true},
		{"transport: mpi\ncases: [{mode: unsync, schedule: fors}]", "paths", true},
		{"transport: mpi\ncases: [{mode: ordered}]", "paths", true},
		{"transport: mpi\ncases: [{schedule: fors, objective: balanced}]", "balanced", true},
		{"transport: mpi\ncases: [{schedule: linear-shift, routing: pinned}]", "", true},
		{"transport: mpi\ncases: [{schedule: fors, routing: minhop}]", "", false},
		{"transport: mpi\ncases: [{mode: ordered, routing: minhop}]", "", false},
	} {
		s := read(t, small+tt.text)
		if got := s.Objective(s.Cases[0]); string(got) != tt.want || s.OnePath(s.Cases[0]) != tt.one {
			t.Errorf("%s: objective %q, one path %v", tt.text, got, s.OnePath(s.Cases[0]))
		}
	}
}

func TestCluster(t *testing.T) {
	s := read(t, cluster)
	expect.True(t, s.Fabric.Kind == scenario.Hosts && s.Transport == transport.TCP && s.IO == scenario.IOAuto,
		"fabric %+v, transport %s, io %s", s.Fabric, s.Transport, s.IO)
	want := scenario.Launch{
		Kind: scenario.LaunchSSH, Hosts: "node[001-016]", User: "daq", SSHPort: 2222, RemoteDir: "/var/tmp/evbench",
		Network: "10.1.0.0/16", DataPort: 7000, CPUs: "0-7,16", Preflight: true,
	}
	expect.Equal(t, s.Launch, want, "launch")
	inject := scenario.Inject{
		Kind: scenario.InjectCommand, Down: "down {link}", Up: "up {link}", Probe: "is-up {link}",
		Timeout: 5 * time.Second, Journal: "evbench-injected.journal",
	}
	expect.Equal(t, s.Inject, inject, "inject")
}

// In a lab nothing of the real hosts is left.
func TestClusterInTheLab(t *testing.T) {
	s := read(t, cluster)
	expect.Must(t, s.Override(scenario.Overrides{"fabric": scenario.Lab}))
	expect.True(t, s.Launch.Kind == scenario.LaunchLocal && s.Inject.Kind == "" && s.Fabric.Rate != 0,
		"launch %+v, inject %+v, fabric %+v", s.Launch, s.Inject, s.Fabric)
}

func TestOverrideTransport(t *testing.T) {
	s := read(t, small+"fabric: hosts\ncases: [{}]")
	expect.Must(t, s.Override(scenario.Overrides{"transport": transport.MPI, "io": scenario.IOCopy}))
	expect.True(t, s.Transport == transport.MPI && s.Launch.Kind == scenario.LaunchStarted && s.IO == scenario.IOCopy,
		"transport %s, launch %s, io %s", s.Transport, s.Launch.Kind, s.IO)
}

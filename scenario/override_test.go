package scenario_test

import (
	"reflect"
	"testing"
	"time"

	"evbench/scenario"
	"evbench/testing/expect"
	"evbench/transport"
)

const two = small + `event: {phase: 20ms}
cases:
  - {name: a, duration: 4s}
  - {name: b, routing: minhop, failures: [{link: spine0, at: 2s, for: 1s}]}
`

func TestOverride(t *testing.T) {
	s := read(t, two)
	err := s.Override(scenario.Overrides{"rate": "50Mbit/s", "case": "a", "rounds": "3", "fabric": "emulate", "duration": "2s", "interval": "500ms", "deliver": "discard", "trace": "on"})
	expect.Must(t, err)
	expect.False(t, s.Fabric.Kind != "emulate" || s.Fabric.Rate != 50_000_000 || s.Event.Fragment != scenario.FragmentOf(50_000_000, 20*time.Millisecond, 9000),
		"fabric %+v, event %+v", s.Fabric, s.Event)
	expect.True(t, len(s.Cases) == 1 && s.Cases[0].Name == "a" && s.Cases[0].Duration == 2*time.Second && s.Duration == 2*time.Second,
		"cases %+v", s.Cases)
	expect.True(t, s.Rounds.Count == 3 && s.Interval == 500*time.Millisecond && s.Deliver == "discard" && s.Trace, "settings %+v", s)
}

func TestOverrideNothing(t *testing.T) {
	s, same := read(t, two), read(t, two)
	expect.Must(t, s.Override(scenario.Overrides{}))
	expect.False(t, s.Fabric != same.Fabric || !reflect.DeepEqual(s.Event, same.Event) || s.Interval != same.Interval || len(s.Cases) != 2 || s.Cases[0].Duration != 4*time.Second,
		"nothing was asked for, and it became %+v", s)
}

// On hosts the lab's rate is not known, and fragments stay as they were.
func TestOverrideHosts(t *testing.T) {
	s := read(t, small+"cases: [{}]")
	before := s.Event.Fragment
	expect.Must(t, s.Override(scenario.Overrides{"fabric": "hosts"}))
	expect.True(t, s.Fabric.Rate == 0 && s.Event.Fragment == before, "rate %s, fragment %s", s.Fabric.Rate, s.Event.Fragment)
	if err := s.Override(scenario.Overrides{"fabric": "lab"}); err != nil || s.Fabric.Rate != 100_000_000 {
		t.Errorf("back in the lab: rate %s, %v", s.Fabric.Rate, err)
	}
}

// A shorter case takes shorter intervals, unless they are asked for.
func TestOverrideShortens(t *testing.T) {
	s := read(t, small+"cases: [{}]")
	if err := s.Override(scenario.Overrides{"duration": "300ms"}); err != nil || s.Interval != 300*time.Millisecond {
		t.Errorf("interval %s, %v", s.Interval, err)
	}
}

func TestOverrideRefuses(t *testing.T) {
	emulated := scenario.Overrides{"fabric": "emulate"}
	transport := scenario.Overrides{"transport": "mpi"}
	for _, tt := range []struct {
		name, text string
		o          scenario.Overrides
		want       string
	}{
		{"fabric", two, scenario.Overrides{"fabric": "cloud"}, "--fabric: no fabric"},
		{"timed on hosts", two, scenario.Overrides{"fabric": "hosts"}, `--fabric hosts: case "b": evbench cannot take down`},
		{"rate", two, scenario.Overrides{"rate": "0bit/s"}, "--rate: rate"},
		{"rate too small for the phase", two, scenario.Overrides{"rate": "1kbit/s"}, "--rate 1kbit/s: phases of 20ms"},
		{"case", two, scenario.Overrides{"case": "c"}, `--case: no case "c"; there are "a", "b"`},
		{"rounds", two, scenario.Overrides{"rounds": "some"}, `--rounds: "some": write auto or a whole number 1..1000`},
		{"limit", two, scenario.Overrides{"limit": "1ms"}, "--limit 1ms: must be 1s to 168h"},
		{"limit of a number", two, scenario.Overrides{"limit": "1m", "rounds": "4"}, "--limit: is for --rounds auto; there are 4"},
		{"duration", two, scenario.Overrides{"duration": "1ms"}, "--duration 1ms: must be 100ms to 24h"},
		{"duration and failure", two, scenario.Overrides{"duration": "2s"}, `--duration 2s: case "b": failure of spine0: begins at 2s`},
		{"interval", two, scenario.Overrides{"interval": "5s"}, `--interval 5s: must be 10ms to 2s, which is how long the control lasts`},
		{"deliver", two, scenario.Overrides{"deliver": "x"}, "--deliver: no way to deliver"},
		{"processes on clocks", small + "fabric: {workers: processes}\ncases: [{}]", emulated, "--fabric emulate: fabric.workers: links of the fabric emulate are clocks in one process"},
		{"queues per output over clocks", small + "fabric: {lossless: {queues: per-output}}\ncases: [{}]", emulated, "--fabric emulate: fabric.lossless: an emulated fabric has one lane"},
		{"spraying over clocks", small + "cases: [{name: a, routing: spray}]", emulated, `--fabric emulate: case "a": an emulated fabric delivers each connection in order`},
		{"transport of clocks", small + "fabric: emulate\ncases: [{}]", transport, "--transport mpi: transport mpi is not for fabric emulate"},
		{"transport", two, scenario.Overrides{"transport": "ib"}, "--transport: no transport"},
		{"io", two, scenario.Overrides{"io": "fast"}, "--io: no way of input and output"},
	} {
		err := read(t, tt.text).Override(tt.o)
		expect.Error(t, err, tt.want)
	}
}

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

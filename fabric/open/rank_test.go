package open

import (
	"errors"
	"fmt"
	"testing"

	"evbench/internal/expect"
	"evbench/scenario"
	"evbench/transport"
)

func TestControlOf(t *testing.T) {
	tcp := scenario.Scenario{Transport: transport.TCP}
	said := scenario.Scenario{Transport: transport.MPI, Launch: scenario.Launch{Control: "tcp:node001:7000"}}
	wrong := scenario.Scenario{Launch: scenario.Launch{Control: "node001:7000"}}
	for _, tt := range []struct {
		name       string
		s          scenario.Scenario
		at         Place
		controller int
		want       string // "": an error
	}{
		{"as the scenario says", said, Place{Size: 9}, 0, "tcp:node001:7000"},
		{"no address", wrong, Place{Size: 9}, 0, ""},
		{"MPI", scenario.Scenario{Transport: transport.MPI}, Place{Size: 9}, 0, "mpi"},
		{"one machine", tcp, Place{Size: 9, Locals: 9}, 3, "tcp:127.0.0.1:7777"},
		{"first host of Slurm", tcp, Place{Size: 9, Locals: 3, first: "node007"}, 0, "tcp:node007:7777"},
		{"controller on another host", tcp, Place{Size: 9, Locals: 3, first: "node007"}, 8, ""},
		{"not known", tcp, Place{Size: 9, Locals: 3}, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := controlOf(&tt.s, tt.at, tt.controller)
			expect.True(t, got == tt.want && (err == nil) == (tt.want != ""), "got %q, %v; want %q", got, err, tt.want)
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
		expect.Equal(t, listenOn(control, here, lookup), want, "listenOn(%q)", control)
	}
}

// Servers are the ranks in their order, without the controller's.
func TestServerOfRank(t *testing.T) {
	var got []int
	for rank := range 5 {
		if r := (Rank{Place: Place{Rank: rank}, controller: 2}); rank != 2 {
			got = append(got, r.server())
		}
	}
	expect.True(t, fmt.Sprint(got) == "[0 1 2 3]", "servers %v", got)
}

func TestMPIAddress(t *testing.T) {
	rank, err := parseMPIAddress("mpi:7")
	expect.True(t, rank == 7 && err == nil, "rank %d, %v", rank, err)
	for _, bad := range []string{"", "mpi:", "mpi:-1", "7", "127.0.0.1:7000"} {
		expect.True(t, expect.Err(parseMPIAddress(bad)) != nil, "%q is taken", bad)
	}
}

package policy

import (
	"math"
	"time"

	"evbench/model/sim"
	"evbench/topology"
)

// LHCb returns the network of LHCb's event builder by the thesis: FT(2;20,18) with all ports in use, since it does
// not place the 326 servers on leaves. A healthy phase of 2 ms (5.3) builds 142.71 Gbit/s a server (4.3.4) over links
// of 200 (2.3.1): the message takes that share of it, and the rest is the overhead of a phase.
func LHCb() (*Setting, error) {
	const (
		link, built, phase = 200e9, 142.71e9, 0.002
		overhead           = phase - phase*built/link
	)
	t, err := topology.New(topology.Options{Ports: 20, Leaves: 18})
	if err != nil {
		return nil, err
	}
	return &Setting{
		Tree: t, BitPerSec: link, Fragment: int(phase * built / 8), Timing: sim.Timing{Overhead: time.Duration(math.Round(overhead * 1e9))},
		Most: built, Servers: 326, Seed: 1,
	}, nil
}

package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"evbench/sim/credit"
	"evbench/topology/network"
)

// A Result is what ours gives for a case, in the units of its simulator: cycles or ns.
type Result struct {
	Accepted, Worst  float64 // share of the link: mean over hosts, host that received least
	Latency, Network float64 // of a packet: as the simulator counts it, without the source queue
	MessageLatency   float64
	Least            float64 // latency
	Batch            float64 // cycles
	Hops             float64 // switches
	Flits            int64   // delivered in the window
}

// notation returns the network that a simulator's name of a topology means, and what is
// dead in it.
func notation(topology string) (string, []string) {
	switch {
	case strings.HasPrefix(topology, "ft44"):
		if strings.HasSuffix(topology, "dead00") {
			return "kary(4;2)", []string{"s1_0-s2_0"}
		}
		return "kary(4;2)", nil
	case strings.HasPrefix(topology, "kary("):
		return strings.ReplaceAll(topology, ",", ";"), nil
	case strings.HasPrefix(topology, "ft2_"):
		return "FT(2;" + strings.ReplaceAll(topology[4:], "x", ",") + ")", nil
	}
	return topology, nil
}

func build(topology string) (*network.Network, error) {
	name, dead := notation(topology)
	n, err := network.Parse(name, 0)
	if err != nil || dead == nil {
		return n, err
	}
	return n.Degrade(dead)
}

var call = regexp.MustCompile(`^(\w+)(?:\(([\d,]*)\))?$`)

func parseCall(s string) (name string, args []int, err error) {
	m := call.FindStringSubmatch(s)
	if m == nil {
		return "", nil, fmt.Errorf("%q: it must be NAME or NAME(NUMBER,…)", s)
	}
	for _, a := range strings.Split(m[2], ",") {
		if v, err := strconv.Atoi(a); err == nil {
			args = append(args, v)
		}
	}
	return m[1], args, nil
}

func pattern(traffic string, hosts int) (p credit.Pattern, packets int64, err error) {
	name, args, err := parseCall(traffic)
	if err != nil {
		return nil, 0, err
	}
	arg := func(i, otherwise int) int {
		if i < len(args) {
			return args[i]
		}
		return otherwise
	}
	switch name {
	case "uniform":
		return credit.Uniform(hosts), 1, nil
	case "shift":
		return credit.Shift(hosts, arg(0, 1)), 1, nil
	case "shiftseq":
		return credit.ShiftSequence(hosts, arg(1, 1)), int64(arg(0, 1)), nil
	case "randmsg":
		return credit.Others(hosts), int64(arg(0, 1)), nil
	case "random":
		return credit.Others(hosts), 0, nil
	case "linshift":
		return credit.ShiftSequence(hosts, arg(1, arg(0, 1))), 0, nil
	case "randshift":
		return credit.RandomShifts(hosts, uint64(arg(0, 1))), 0, nil
	}
	return nil, 0, fmt.Errorf("%q: it is not known", traffic)
}

func Run(c Case) (*Result, error) {
	n, err := build(c["topology"])
	if err != nil {
		return nil, err
	}
	if c["sim"] == BookSim {
		return booksim(c, n)
	}
	return omnet(c, n)
}

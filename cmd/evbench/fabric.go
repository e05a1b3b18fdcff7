package main

import (
	"context"
	"fmt"
	"net"

	"evbench/fabric"
	"evbench/scenario"
)

// fabrics are those that this binary has.
var fabrics = scenario.Kinds()

// An opener makes the fabric of a run. It is called last, when everything that
// can be wrong with the input has been checked.
type opener func(ctx context.Context, s *scenario.Scenario) (fabric.Fabric, error)

// fabricFor returns how to open the fabric of a scenario. For the lab it sees to
// it that this process may build one, which can mean that another one has done
// all the work: see enterLab.
func fabricFor(s *scenario.Scenario) (opener, error) {
	if err := checkMemory(s, s.Tree.Servers()); err != nil {
		return nil, err
	}
	switch s.Fabric.Kind {
	case scenario.Lab:
		return openLab, enterLab()
	case scenario.Emulate:
		return openEmulated, nil
	}
	return openLocal, checkHosts(s)
}

// checkHosts refuses what plain hosts cannot do. Where the scenario says how, an
// injector takes links down.
func checkHosts(s *scenario.Scenario) error {
	if s.Inject.Kind != "" {
		return nil
	}
	for _, c := range s.Cases {
		if len(c.Failures) > 0 {
			return usagef("fabric hosts: case %q: evbench does not control this network and cannot take links down; "+
				"say with inject how it can", c.Name)
		}
	}
	return nil
}

// freePorts returns ports of the loopback interface that are free now.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		// Held until all are found, so that they differ.
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("free ports: %w", err)
		}
		defer l.Close()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}

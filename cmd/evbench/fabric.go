package main

import (
	"evbench/fabric/kind"
	"evbench/scenario"
)

// fabrics are those that this binary has.
var fabrics = scenario.Kinds()

// fabricFor returns how to open the fabric of a scenario. For the lab it sees to
// it that this process may build one, which can mean that another one has done
// all the work: see enterLab.
func fabricFor(s *scenario.Scenario) (kind.Opener, error) {
	if err := checkMemory(s, s.Tree.Servers()); err != nil {
		return nil, err
	}
	switch s.Fabric.Kind {
	case scenario.Lab:
		return kind.Lab, enterLab()
	case scenario.Emulate:
		return kind.Emulated, nil
	}
	return kind.Local, checkHosts(s)
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

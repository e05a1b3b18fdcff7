package main

import (
	"fmt"
	"os"
	"strings"

	"evbench/host"
	"evbench/internal/unit"
	"evbench/results"
	"evbench/scenario"
)

// describeMachine fills what the manifest says about program and machine.
func describeMachine(m *results.Manifest) {
	b := versionInfo()
	m.Versions = map[string]string{"evbench": b.Version, "go": b.Go}
	for path, v := range b.Modules {
		m.Versions[path] = v
	}
	m.BuildTags = b.Tags
	f, _ := host.Read() // an error is about interfaces, which are not asked for here
	m.Host, m.Cores, m.CPU, m.Kernel = f.Host, f.Cores, f.CPU, f.Kernel
}

// readString returns a file without the space around it; what cannot be read
// is not known.
func readString(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// A machineError is wrong about this machine only.
type machineError struct{ text string }

func (e *machineError) Error() string { return e.text }

// checkMemory refuses a scenario whose event buffers do not fit into this
// machine, where so many of its servers run: every server holds whole events, one
// fragment of each server.
func checkMemory(s *scenario.Scenario, here int) error {
	available := host.Available()
	if available == 0 {
		return nil // not known here
	}
	n, credits := s.Tree.Servers(), 1
	for _, c := range s.Cases {
		credits = max(credits, c.Credits)
	}
	if s.Deliver == scenario.Discard {
		n = 1 // one fragment's worth each
	}
	need := unit.Bytes(here*n*credits) * s.Event.Fragment
	if have := unit.Bytes(available); need > have*9/10 {
		return usage(&machineError{fmt.Sprintf("event buffers need %s, this machine has %s free: "+
			"take smaller fragments, fewer credits or deliver: discard", need, have)})
	}
	return nil
}

package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"

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
	m.BuildTags = []string{}
	m.Host, _ = os.Hostname() // a machine without a name has an empty one
	m.Cores = runtime.NumCPU()
	m.CPU = field("/proc/cpuinfo", "model name")
	m.Kernel = strings.TrimSpace(readString("/proc/sys/kernel/ostype") + " " + readString("/proc/sys/kernel/osrelease"))
	if m.Kernel == "" {
		m.Kernel = runtime.GOOS
	}
}

// field returns the value of the first line "name : value" of a file, or "".
func field(file, name string) string {
	for line := range strings.Lines(readString(file)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
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

// checkMemory refuses a scenario whose event buffers do not fit into this
// machine: every server holds whole events, one fragment of each server.
func checkMemory(s *scenario.Scenario) error {
	var available uint64
	if _, err := fmt.Sscanf(field("/proc/meminfo", "MemAvailable"), "%d kB", &available); err != nil {
		return nil // not known here
	}
	n, credits := s.Tree.Servers(), 1
	for _, c := range s.Cases {
		credits = max(credits, c.Credits)
	}
	if s.Deliver == scenario.Discard {
		n = 1 // one fragment's worth each
	}
	need := unit.Bytes(s.Tree.Servers()*n*credits) * s.Event.Fragment
	if have := unit.Bytes(available << 10); need > have*9/10 {
		return usagef("event buffers need %s, this machine has %s free: take smaller fragments, fewer credits or deliver: discard", need, have)
	}
	return nil
}

package main

import (
	"fmt"
	"strings"
	"time"
)

const caseName = "chaos"

func (s *Script) YAML() string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: soak\ntopology: %s\n", s.Notation)
	if s.Fill != nil {
		fmt.Fprintf(&b, "fill: [%s]\n", strings.Trim(strings.Join(strings.Fields(fmt.Sprint(s.Fill)), ", "), "[]"))
	}
	if s.Hosts {
		fmt.Fprintf(&b, "fabric: {kind: hosts}\nevent: {fragment: 16KiB}\ntimeout: %s\n", ControlTimeout)
	} else {
		fmt.Fprintf(&b, "fabric: {rate: %s, workers: %s}\nevent: {phase: %s}\ntimeout: %s\n", linkRate, s.workers(), phaseTime, s.timeout())
	}
	fmt.Fprintf(&b, "duration: %s\ninterval: 100ms\ncontrol: off\nseed: %d\n", millis(s.Duration), 1+s.Seed%1000)
	if s.Payload {
		b.WriteString("check: payload\n")
	}
	fmt.Fprintf(&b, "cases:\n  - name: %s\n", caseName)
	if s.Ordered {
		b.WriteString("    mode: ordered\n")
	}
	if s.Policy == "" && s.Ordered {
		return b.String()
	}
	if s.Policy == "" {
		b.WriteString("    schedule: linear-shift\n")
		return b.String()
	}
	b.WriteString("    failover: {policy: " + s.Policy)
	if s.Hold > 0 {
		fmt.Fprintf(&b, ", hold: %s", millis(s.Hold))
	}
	if s.wait {
		b.WriteString(", on_disconnect: wait")
	}
	b.WriteString("}\n")
	if s.Kind.byOthers() {
		return b.String()
	}
	b.WriteString("    failures:\n")
	for _, f := range s.failures {
		fmt.Fprintf(&b, "      - {link: %s, at: %s, for: %s}\n", f.Name, millis(f.At), millis(f.For))
	}
	return b.String()
}

func (s *Script) workers() string {
	if s.Apart {
		return "processes"
	}
	return "threads"
}

func (s *Script) timeout() time.Duration {
	if s.Kind == Severed {
		return ControlTimeout
	}
	return caseTimeout
}

func millis(d time.Duration) string { return fmt.Sprintf("%dms", d.Milliseconds()) }

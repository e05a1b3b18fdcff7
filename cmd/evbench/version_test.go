package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"evbench/testing/expect"
	"evbench/transport"
)

// The change log and the citation are of the release that the program says it is.
func TestVersionIsOne(t *testing.T) {
	if strings.Count(version, ".") != 2 {
		t.Skip("built from a commit: " + version)
	}
	for file, line := range map[string]string{"CHANGELOG.md": "\n## " + version + "\n", "CITATION.cff": "\nversion: " + version + "\n"} {
		text := expect.Value(os.ReadFile("../../" + file))(t)
		expect.Contains(t, string(text), line)
	}
}

// Main hands in each transport that open does not have itself: what a build lacks, it lacks for want of a library.
func TestTransportsAreHandedIn(t *testing.T) {
	b := ours.Build()
	for _, name := range transport.Names() {
		_, handed := ours.Transports[name]
		expect.True(t, handed || slices.Contains([]string{transport.TCP, transport.MPI}, name), "%s: not handed in", name)
	}
	expect.True(t, len(b.Transports)+len(b.Without) >= len(transport.Names()), "%v, without %v", b.Transports, b.Without)
}

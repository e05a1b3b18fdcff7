package main

import (
	"os"
	"strings"
	"testing"

	"evbench/testing/expect"
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

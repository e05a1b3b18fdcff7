package main

import (
	"os"
	"strings"
	"testing"
)

// TestDocsExamplesRun sees that a script runs every command of docs/routing.md.
func TestDocsExamplesRun(t *testing.T) {
	doc, err := os.ReadFile("../../docs/routing.md")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("testdata/script/docs_routing.txtar")
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for line := range strings.Lines(string(doc)) {
		if !strings.HasPrefix(line, "evbench ") {
			continue
		}
		if commands++; !strings.Contains(string(script), "\nexec "+line) {
			t.Errorf("no script runs: %s", line)
		}
	}
	if commands == 0 {
		t.Error("no examples")
	}
}

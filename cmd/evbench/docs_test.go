package main

import (
	"os"
	"path/filepath"
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

// TestClusterDocs validates the scenarios of docs/cluster.md and runs those of its
// commands that need no cluster, in their order.
func TestClusterDocs(t *testing.T) {
	doc, err := os.ReadFile("../../docs/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "evbench")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	run := func(command string) {
		if code, out, said := capture(t, dir, "/bin/sh", "sh", "-c", command); code != exitDone {
			t.Errorf("%s: ended with %d\n%s%s", command, code, out, said)
		}
	}
	blocks := strings.Split(string(doc), "\n```")
	scenarios, commands := 0, 0
	for i := 1; i < len(blocks); i += 2 { // every second one is text
		if yaml, ok := strings.CutPrefix(blocks[i], "yaml\n# "); ok {
			name, text, _ := strings.Cut(yaml, "\n")
			write(t, dir, name, text)
			if strings.HasPrefix(text, "topology:") {
				scenarios++
				run("evbench validate " + name)
			}
			continue
		}
		for line := range strings.Lines(blocks[i]) {
			if needsNoCluster(line) {
				commands++
				run(line)
			}
		}
	}
	if scenarios < 5 || commands < 9 {
		t.Errorf("found %d scenarios and %d commands only", scenarios, commands)
	}
}

// needsNoCluster reports whether a line of an example is a command that neither
// runs a scenario nor waits for somebody.
func needsNoCluster(line string) bool {
	words := strings.Fields(line)
	if len(words) < 2 {
		return false
	}
	if words[0] != "evbench" {
		return words[0] == "mkdir" || strings.HasPrefix(line, "id=")
	}
	return words[1] != "run" && words[1] != "worker" && words[1] != "controller"
}

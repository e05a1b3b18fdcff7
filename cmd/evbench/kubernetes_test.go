package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"evbench/results/store"
	"evbench/testing/expect"
)

// The ranks of an Indexed Job find their places by what Kubernetes tells each pod.
func TestIndexedJob(t *testing.T) {
	dir := t.TempDir()
	var doc struct{ Data map[string]string }
	for d := yaml.NewDecoder(bytes.NewReader(expect.Value(os.ReadFile("../../scripts/kubernetes/job.yaml"))(t))); doc.Data == nil; {
		expect.Must(t, d.Decode(&doc))
	}
	scenario := doc.Data["scenario.yaml"]
	port := freePorts(t, 1)
	scenario = strings.NewReplacer("evbench-0.evbench:7777", fmt.Sprintf("127.0.0.1:%d", port), "duration: 5s", "duration: 200ms\ncontrol: off").Replace(scenario)
	write(t, dir, "s.yaml", scenario)
	t.Setenv("JOB_COMPLETIONS", "9")
	t.Setenv("EVBENCH_TOKEN", "secret")
	var ranks []*program
	for rank := range 9 {
		t.Setenv("JOB_COMPLETION_INDEX", fmt.Sprint(rank))
		ranks = append(ranks, begin(t, dir, "run", "--rounds", "1", "s.yaml", "-o", "out"))
	}
	for rank, p := range ranks {
		code, said := p.end()
		expect.True(t, code == exitDone || rank == 0 && code == exitInvalid, "rank %d ended with %d:\n%s", rank, code, said)
	}
	expect.True(t, store.Present(filepath.Join(dir, "out", "summary.json")), "no results")
}

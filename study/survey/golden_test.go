package survey_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

var update = flag.Bool("update", false, "rewrite golden files")

func tree(t testing.TB, m0, m1 int, down ...string) *topology.Tree {
	t.Helper()
	return topologytest.Tree(t, topology.Options{Ports: m0, Leaves: m1}, down...)
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		expect.Must(t, os.WriteFile(file, got, 0o644))
	}
	want := expect.Value(os.ReadFile(file))(t)
	expect.True(t, bytes.Equal(got, want), "%s has changed; -update rewrites it. Now:\n%s", name, got)
}

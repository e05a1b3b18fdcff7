package judge_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evbench/scheduler/judge"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// TestForms: files that former releases wrote are read and judged valid, with their hash, for ever; and form 4 of the same
// messages is, too.
func TestForms(t *testing.T) {
	files := expect.Value(filepath.Glob("testdata/forms/*.plan"))(t)
	expect.Equal(t, len(files), 5, "files of former forms")
	for _, name := range files {
		text := string(expect.Value(os.ReadFile(name))(t))
		f := expect.Value(judge.Read(strings.NewReader(text)))(t)
		r := judge.Check(f, judge.Options{Bound: true})
		expect.True(t, r.Valid && f.Hash != "" && f.Form == int(name[len("testdata/forms/form")]-'0'), "%s: form %d, %+v", name, f.Form, r)
		f.Hash = "sha256:0"
		expect.True(t, judge.Check(f, judge.Options{}).Counts[judge.WrongHash] == 1, "%s: the hash is not looked at", name)
	}
	// The hash of a plan of equal fragments is that of forms 1 and 3.
	for _, name := range []string{"form1", "form1-roles", "form3"} {
		text := string(expect.Value(os.ReadFile("testdata/forms/" + name + ".plan"))(t))
		_, rest, _ := strings.Cut(text, "\n")
		r := judged(t, judge.First+"\n"+rest, judge.Options{})
		expect.True(t, r.Valid && r.File.Form == 4, "%s as form 4: %+v", name, r)
	}
}

// TestCovered: the hash covers all lines that name a tree, in their order.
func TestCovered(t *testing.T) {
	tree := topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 3, Spines: 3}, "leaf0-spine0")
	last := -1
	for line := range strings.Lines(expect.Value(tree.WithRoles("leaf0", "leaf1"))(t).Words().Lines()) {
		at := slices.Index(judge.Covered, strings.Fields(line)[1])
		expect.True(t, at > last, "%s is not covered, or not in its order", line)
		last = at
	}
}

// TestPorts: over probed paths a message names the source port that leads over its path.
func TestPorts(t *testing.T) {
	const head = "# evbench plan 4\n# hosts 3\n# paths sha256:0\n# schedule x\n# phases 2\n"
	f := expect.Value(judge.Read(strings.NewReader(head + "0 0 1 65535\n0 1 2 49160\n0 2 0 -\n1 0 2 32768\n1 1 0 1\n1 2 1 1\n")))(t)
	var ports []int
	for _, m := range f.Messages {
		ports = append(ports, m.Port())
	}
	expect.Equal(t, ports, []int{65535, 49160, 0, 32768, 1, 1}, "ports")
	for _, tt := range []struct{ row, want string }{
		{"0 0 1 0\n", "port 0: write a source port, 1..65535, or -"}, {"0 0 1 65536\n", "port is larger than 65535"}, {"0 0 1 2.1\n", "port is not a number"},
	} {
		expect.Error(t, expect.Err(judge.Read(strings.NewReader(head+tt.row))), tt.want)
	}
}

package layers_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"evbench/testing/expect"
)

// mostHarness is how many lines of ours a program may link that only runs scenarios and reports them.
const mostHarness = 72_725

// TestHarness builds a program of another module, with a fabric of its own, in a folder outside the checkout: what it takes is handed
// in by its main, and what it does not take it does not link.
func TestHarness(t *testing.T) {
	dir := t.TempDir()
	root := expect.Value(filepath.Abs("../.."))(t)
	text := string(expect.Value(os.ReadFile(filepath.Join(root, "go.mod")))(t))
	_, needs, _ := strings.Cut(text, "\nrequire")
	mod := "module example.org/harness\n\ngo 1.26.0\n\nrequire evbench v0.0.0\n\nreplace evbench => " + root + "\n\nrequire" + needs
	expect.Must(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o600))
	for from, to := range map[string]string{filepath.Join(root, "go.sum"): "go.sum", "testdata/harness.go": "main.go"} {
		expect.Must(t, os.WriteFile(filepath.Join(dir, to), expect.Value(os.ReadFile(from))(t), 0o600))
	}
	do := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		expect.MustTrue(t, err == nil, "go %v: %v: %s", args, err, &said)
		return string(out)
	}
	do("build", "-o", filepath.Join(dir, "harness"), ".")
	lines := 0
	for pkg := range strings.Lines(do("list", "-deps", "-tags", "mpi,hdf5,rdma", "-f", "{{.Dir}}", ".")) {
		if pkg = strings.TrimSpace(pkg); strings.HasPrefix(pkg, root) {
			lines += linesIn(t, pkg)
		}
	}
	expect.True(t, lines > 10_000 && lines <= mostHarness, "the harness links %d lines of ours, at most %d are allowed", lines, mostHarness)
}

// linesIn counts the lines of a folder's Go files without tests.
func linesIn(t *testing.T, dir string) (n int) {
	for _, name := range expect.Value(filepath.Glob(filepath.Join(dir, "*.go")))(t) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f := expect.Value(os.Open(name))(t)
		for in := bufio.NewScanner(f); in.Scan(); {
			n++
		}
		expect.OK(t, f.Close())
	}
	return n
}

package layers_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"evbench/testing/expect"
	"evbench/testing/need"
)

// mostHarness is how many lines of ours a program may link that only runs scenarios and reports them.
const mostHarness = 71_878

// TestHarness builds a program of another module, with a fabric of its own, in a folder outside the checkout: what it takes is handed
// in by its main, and what it does not take it does not link.
func TestHarness(t *testing.T) {
	m := outside(t, "testdata/harness.go")
	if need.TakesHeavy() {
		m.run("go", "build", "-tags", "netgo,osusergo", "-o", "program", ".")
	}
	lines := 0
	for pkg := range strings.Lines(m.run("go", "list", "-deps", "-tags", "mpi,hdf5,rdma", "-f", "{{.Dir}}", ".")) {
		if pkg = strings.TrimSpace(pkg); strings.HasPrefix(pkg, m.root) {
			lines += linesIn(t, pkg)
		}
	}
	expect.True(t, lines > 10_000 && lines <= mostHarness, "the harness links %d lines of ours, at most %d are allowed", lines, mostHarness)
}

// TestOutside runs a program of another module that adds a fabric, a launcher, an engine and a format of judge: each needs no fork.
func TestOutside(t *testing.T) {
	need.Heavy(t)
	m := outside(t, "testdata/outside/main.go")
	m.run("go", "build", "-tags", "netgo,osusergo", "-o", "program", ".")
	expect.Equal(t, m.run("./program", "out"), "launched 4\ninstalled mine\nran control true\nran mine true\njudged daq daq 0.5\n", "what it says")
}

// A module is one of somebody else's, in a temporary folder.
type module struct {
	t         *testing.T
	dir, root string // root is this checkout
}

func outside(t *testing.T, program string) module {
	t.Helper()
	m := module{t, t.TempDir(), expect.Value(filepath.Abs("../.."))(t)}
	for name, text := range map[string]string{
		"go.mod": "module example.org/outside\n\ngo 1.26.0\n", "go.work": "go 1.26.0\n\nuse (\n\t.\n\t" + m.root + "\n)\n",
		"main.go": string(expect.Value(os.ReadFile(program))(t)),
	} {
		expect.Must(t, os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o600))
	}
	return m
}

// run returns the output of a command in the module. With the tags of the gate's other steps in a workspace, what these have compiled
// is compiled: to require and replace evbench would compile it anew.
func (m module) run(args ...string) string {
	m.t.Helper()
	cmd := exec.CommandContext(m.t.Context(), args[0], args[1:]...)
	cmd.Dir, cmd.Env = m.dir, append(os.Environ(), "GOWORK="+filepath.Join(m.dir, "go.work"))
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	expect.MustTrue(m.t, err == nil, "%v: %v: %s", args, err, &said)
	return string(out)
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

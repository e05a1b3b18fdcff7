package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"evbench/testing/expect"
)

// A change that breaks only a package that imports the changed one through another fails the inner
// loop, which does not test what has nothing to do with it.
func TestCheckTestsImporters(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		expect.Must(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700))
		expect.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700))
	}
	write("scripts/format", "#!/bin/sh\n")
	write("go.mod", "module evbench\n\ngo 1.26\n")
	write("low/low.go", "package low\n\nconst Columns = 3\n")
	write("mid/mid.go", "package mid\n\nimport \"evbench/low\"\n\nconst Columns = low.Columns\n")
	write("aside/aside_test.go", "package aside\n")
	write("top/top_test.go", `package top

import (
	"testing"

	"evbench/mid"
)

func TestColumns(t *testing.T) {
	if mid.Columns != 3 {
		t.Error("a column more")
	}
}
`)
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all"}} {
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		expect.MustTrue(t, err == nil, "%v: %s", err, out)
	}
	t.Chdir(dir)
	for name, value := range map[string]string{"BASE": "HEAD", "GOFLAGS": "", "GOWORK": "off", "GO": "go"} {
		t.Setenv(name, value)
	}
	for columns, code := range map[string]int{"1 + 2": 0, "4": 1} {
		write("low/low.go", "package low\n\nconst Columns = "+columns+"\n")
		var out strings.Builder
		ended := run(t.Context(), []string{"check"}, &out, &out)
		expect.True(t, ended == code && !strings.Contains(out.String(), "evbench/aside"), "%s columns: ended with %d:\n%s", columns, ended, &out)
		expect.Contains(t, out.String(), "evbench/top", "differ from HEAD: 1, that import them: 2;")
	}
}

// Files below a package's folder are its, those of none that of the test that looks at all; those of evidence are of another module.
func TestAffected(t *testing.T) {
	all := []listed{{ImportPath: "evbench/a", Dir: "/r/a"}, {ImportPath: "evbench/b", Dir: "/r/b", Imports: []string{"fmt", "evbench/a"}},
		{ImportPath: "evbench/c", Dir: "/r/c", XTestImports: []string{"evbench/b"}}, {ImportPath: "evbench/d", Dir: "/r/d"}}
	own, importers := affected(all, "/r", []string{"a/testdata/x/y", "evidence/z.go", "README.md", "a/a.go"})
	expect.Equal(t, fmt.Sprint(own, importers), "[evbench/a evbench/internal/layers] [evbench/b evbench/c]", "packages")
}

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"evbench/internal/proc"
	"evbench/testing/expect"
)

var update = flag.Bool("update", false, "rewrite what scripts expect")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"figures": func() { os.Exit(program()) }})
}

func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", UpdateScripts: *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": func(ts *testscript.TestScript, _ bool, args []string) {
			got := 0
			if exit, ok := errors.AsType[*exec.ExitError](ts.Exec(args[1], args[2:]...)); ok {
				got = exit.ExitCode()
			}
			if want, err := strconv.Atoi(args[0]); err != nil || got != want {
				ts.Fatalf("exit code %d, want %s", got, args[0])
			}
		}},
	})
}

// documented are the commands of the pages: make -C evidence reproduce FIGURES='…', make -C evidence table TABLE='…'.
var documented = regexp.MustCompile(`(?m)make -C evidence (reproduce|table) (?:FIGURES|TABLE)=(?:"([^"]*)"|'([^']*)'|(\S+))`)

// The commands of the pages are understood: what they are called with is computed for nobody, by a context that has ended.
func TestDocumentedCommands(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(proc.Signal{Sig: syscall.SIGINT})
	root := expect.Value(filepath.Abs("../.."))(t)
	t.Chdir(t.TempDir()) // some write into a folder
	found := 0
	for _, page := range expect.Value(filepath.Glob(root + "/docs/*/*.md"))(t) {
		for _, m := range documented.FindAllStringSubmatch(string(expect.Value(os.ReadFile(page))(t)), -1) {
			found++
			args := append([]string{"figures", m[1]}, strings.Fields(strings.NewReplacer("'", "", " LOG ", " "+root+"/scenarios/failures-lhcb.log ").Replace(m[2]+m[3]+m[4]))...)
			var said bytes.Buffer
			code := run(ctx, append(args, "--quiet"), t.Output(), &said)
			expect.True(t, code == 130 || code == 2 && strings.Contains(said.String(), "not defined: --quiet"), "%s: %s: exit code %d: %s", page, m[0], code, &said)
		}
	}
	expect.True(t, found > 3, "%d commands", found)
}

// What is interrupted shows what it has.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(proc.Signal{Sig: syscall.SIGINT})
	var out bytes.Buffer
	code := run(ctx, []string{"figures", "table", "spraying", "-t", "FT(2;2,2)", "--quick"}, &out, t.Output())
	expect.True(t, code == 130 && strings.Contains(out.String(), "INCOMPLETE"), "exit code %d: %s", code, &out)
}

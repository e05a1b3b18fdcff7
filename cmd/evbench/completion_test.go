package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"evbench/internal/expect"
)

// completions returns what the program prints for a shell after these words.
func completions(t *testing.T, words ...string) []string {
	t.Helper()
	old := os.Args
	defer func() { os.Args = old }()
	os.Args = slices.Concat([]string{"evbench"}, words, []string{"--generate-bash-completion"})
	var out bytes.Buffer
	expect.Equal(t, run(t.Context(), os.Args, &out, io.Discard), exitDone, "%v: exit code", words)
	return strings.Fields(out.String())
}

// A shell gives the last word only where it begins with -.
func TestCompletions(t *testing.T) {
	for words, want := range map[string]string{
		"--":                            "",
		"-":                             "--version --help -h",
		"lab":                           "doctor up exec down",
		"help lab":                      "doctor up exec down",
		"help run":                      "",
		"run":                           "",
		"run --ex":                      "--example",
		"run --repe":                    "",
		"run --example quickstart --dr": "--dry-run",
		"run scenario.yaml --dr":        "--dry-run",
		"run --dry-run scenario.yaml":   "",
		"run -- --":                     "",
		"examples quickstart":           "",
		"plan -t":                       "",
		"completion":                    "bash zsh fish",
		"schema":                        "scenario summary",
		"plot throughput":               "",
		"lab exec leaf0 -- touch left":  "",
		"lab exec leaf0 touch left":     "",
		"lab up --help --sp":            "--spines",
	} {
		expect.Equal(t, strings.Join(completions(t, strings.Fields(words)...), " "), want, "%q", words)
	}
	for words, one := range map[string]string{
		"": "completion", "examples": "quickstart", "run --example": "ft8x8", "plan -s": "xor", "plan -r": "spray",
		"routes compute --engine": "dfsssp", "plot": "timeline", "reproduce": "all", "run --fabric": "lab",
	} {
		got := completions(t, strings.Fields(words)...)
		expect.True(t, slices.Contains(got, one), "%q: %q, without %s", words, got, one)
	}
}

// Every command that is not hidden is completed and in the manual, and so are its flags.
func TestCommandsAreCompletedAndInTheManual(t *testing.T) {
	template := cli.MarkdownDocTemplate
	defer func() { cli.MarkdownDocTemplate = template }()
	var page bytes.Buffer
	code := run(t.Context(), []string{"evbench", "man"}, &page, io.Discard)
	expect.MustTrue(t, code == exitDone, "exit code %d", code)
	manual := strings.ReplaceAll(page.String(), `\`, "")
	var walk func(before []string, commands []*cli.Command)
	walk = func(before []string, commands []*cli.Command) {
		for _, c := range commands {
			at := append(slices.Clone(before), c.Name)
			called := "evbench " + strings.Join(at, " ")
			expect.True(t, slices.Contains(completions(t, before...), c.Name) != c.Hidden, "completed: %s, hidden %v", called, c.Hidden)
			expect.True(t, strings.Contains(manual, "\n"+called) != c.Hidden, "in the manual: %s, hidden %v", called, c.Hidden)
			walk(at, c.Subcommands)
			for _, f := range c.VisibleFlags() {
				name := strings.Repeat("-", min(2, len(f.Names()[0]))) + f.Names()[0]
				got := completions(t, append(slices.Clone(at), name[:len(name)-1])...)
				expect.True(t, slices.Contains(got, name), "%s %s is not completed: %v", called, name, got)
				expect.False(t, !c.Hidden && !strings.Contains(manual, name), "%s %s is not in the manual", called, name)
			}
		}
	}
	walk(nil, newApp(io.Discard, io.Discard).Commands)
}

// No line of help is longer than a terminal that is 100 columns wide.
func TestHelpLines(t *testing.T) {
	pages := append([]string{""}, leaves("", newApp(io.Discard, io.Discard).Commands)...)
	pages = append(pages, "routes", "lab", "topo", "table", "failures", "results")
	for _, page := range pages {
		var out, said bytes.Buffer
		args := append(append([]string{"evbench"}, strings.Fields(page)...), "--help")
		code := run(t.Context(), args, &out, &said)
		expect.True(t, code == exitDone && out.Len() != 0, "%s: exit %d, %s", page, code, said.String())
		for line := range strings.Lines(out.String()) {
			n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))
			expect.True(t, n <= 100, "evbench %s: %d columns: %s", page, n, line)
		}
	}
}

// Every exit code of the program is in the table.
func TestExitCodesPage(t *testing.T) {
	page := expect.Value(os.ReadFile("../../docs/reference/exit-codes.md"))(t)
	for _, x := range exitCodes {
		expect.True(t, strings.Contains(string(page), fmt.Sprintf("\n%d | ", x.code)), "%d is not in the table", x.code)
	}
}

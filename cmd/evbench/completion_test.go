package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"evbench/internal/cmdline"
)

func TestCompletions(t *testing.T) {
	for words, want := range map[string]string{
		"ru":                             "run",
		"complet":                        "completion",
		"--":                             "--version --help",
		"re":                             "report results reproduce",
		"lab ":                           "doctor up exec down",
		"lab do":                         "doctor down",
		"help he":                        "",
		"he":                             "help",
		"help lab d":                     "doctor down",
		"help run ":                      "",
		"run --ex":                       "--example",
		"run --repe":                     "",
		"run --example ft":               "ft3-2x2x4 ft8x8",
		"run --example quickstart --dry": "--dry-run",
		"run --dry-run ":                 "",
		"run scenario.yaml ":             "",
		"run -- --":                      "",
		"examples quick":                 "quickstart",
		"examples quickstart ":           "",
		"plan -s xo":                     "xor",
		"plan -r spr":                    "spread spray",
		"plan -t ":                       "",
		"routes compute -e dfs":          "dfsssp",
		"completion ":                    "bash zsh fish",
		"plot t":                         "throughput timeline tree",
		"plot throughput ":               "",
		"magic ":                         "",
		"lab exec leaf0 --":              "",
		"lab up --help --sp":             "--spines",
	} {
		var got []string
		for _, x := range completions(newApp(io.Discard, io.Discard), strings.Split(words, " ")) {
			got = append(got, x.Word)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q: %q, want %q", words, s, want)
		}
	}
	if got := completions(newApp(io.Discard, io.Discard), nil); got != nil {
		t.Errorf("no words: %v", got)
	}
}

// Every command that is not hidden is completed, and so are its flags.
func TestCompletionsAreWhole(t *testing.T) {
	app := newApp(io.Discard, io.Discard)
	var walk func(before []string, commands []*cli.Command)
	walk = func(before []string, commands []*cli.Command) {
		for _, c := range commands {
			found := completions(app, append(slices.Clone(before), c.Name))
			if has := slices.ContainsFunc(found, func(x cmdline.Candidate) bool { return x.Word == c.Name }); has == c.Hidden {
				t.Errorf("%v %s: found %v", before, c.Name, found)
			}
			at := append(slices.Clone(before), c.Name)
			walk(at, c.Subcommands)
			for _, f := range c.VisibleFlags() {
				name := "--" + f.Names()[0]
				if found := completions(app, append(slices.Clone(at), name)); len(found) == 0 {
					t.Errorf("%v %s is not found", at, name)
				}
			}
		}
	}
	walk(nil, app.Commands)
}

package main

import (
	_ "embed" // of the scripts
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/internal/cmdline"
	"evbench/report/figure"
	"evbench/routing"
	"evbench/scenario"
	"evbench/scenarios"
	"evbench/scheduler"
	"evbench/study/papers"
)

// Scripts for shells. Each asks the program, so none knows the commands.
var (
	//go:embed completion/evbench.bash
	bashScript string
	//go:embed completion/evbench.zsh
	zshScript string
	//go:embed completion/evbench.fish
	fishScript string
)

var shells = map[string]string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}

func shellNames() []string { return []string{"bash", "zsh", "fish"} }

func completionAction(c *cli.Context) error {
	script, ok := shells[c.Args().First()]
	if !ok {
		return usagef("completion: no shell %q; there are %s", c.Args().First(), strings.Join(shellNames(), ", "))
	}
	_, err := io.WriteString(c.App.Writer, script)
	return err
}

// firstArguments are the commands whose first argument is a name.
var firstArguments = map[string]cmdline.Names{
	"examples": scenarios.Examples, "completion": shellNames,
	"plot":      func() []string { return append([]string{"list"}, figure.Names()...) },
	"reproduce": func() []string { return append([]string{"all", "list"}, papers.Names()...) },
}

// flagValues are the flags whose value is a name.
var flagValues = map[string]cmdline.Names{
	"example": scenarios.Examples, "schedule": scheduler.Names, "routing": scenario.Routings, "engine": routing.Names, "fabric": scenario.Kinds,
}

package main

import (
	_ "embed" // of the scripts
	"io"
	"strings"

	"github.com/urfave/cli/v2"
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

package main

import (
	"embed"
	"strings"

	"github.com/urfave/cli/v2"
)

// Scripts for shells. Each asks the program, so none knows the commands.
//
//go:embed completion
var scripts embed.FS

func shellNames() []string { return []string{"bash", "zsh", "fish"} }

func completionAction(c *cli.Context) error {
	script, err := scripts.ReadFile("completion/evbench." + c.Args().First())
	if err != nil {
		return usagef("completion: no shell %q; there are %s", c.Args().First(), strings.Join(shellNames(), ", "))
	}
	_, err = c.App.Writer.Write(script)
	return err
}

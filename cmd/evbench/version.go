package main

import (
	"github.com/urfave/cli/v2"

	"evbench/internal/built"
)

// version is set by the linker (see Makefile).
var version = "devel"

func versionCommand() *cli.Command {
	return command(&cli.Command{
		Name:   "version",
		Usage:  "print the version and what is built in",
		Flags:  []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print one JSON document"}},
		Action: versionAction,
	}, "  evbench version --json")
}

// versionInfo says what this binary can do.
func versionInfo() built.Info { return built.Read(version, fabrics) }

func versionAction(c *cli.Context) error {
	b := versionInfo()
	return printed(c, b.WriteText, document(b))
}

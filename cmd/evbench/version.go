package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"
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

// builtIn says what this binary can do.
type builtIn struct {
	Schema     string            `json:"schema"`
	Version    string            `json:"version"`
	Go         string            `json:"go"`
	Platform   string            `json:"platform"`
	Transports []string          `json:"transports"`
	Fabrics    []string          `json:"fabrics"`
	Results    []string          `json:"results"`
	Modules    map[string]string `json:"modules"`
}

func versionInfo() builtIn {
	b := builtIn{
		Schema: "evbench/version/1", Version: version, Go: runtime.Version(),
		Platform:   runtime.GOOS + "/" + runtime.GOARCH,
		Transports: []string{"tcp"}, Fabrics: fabrics, Results: []string{"csv", "json"},
		Modules: map[string]string{},
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			b.Modules[d.Path] = d.Version
		}
	}
	return b
}

func versionAction(c *cli.Context) error {
	if err := needArgs(c, 0, 0, ""); err != nil {
		return err
	}
	b := versionInfo()
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(b)
	}
	_, err := fmt.Fprintf(c.App.Writer, "evbench %s, %s, %s\ntransports %v, fabrics %v, results %v\n",
		b.Version, b.Go, b.Platform, b.Transports, b.Fabrics, b.Results)
	return err
}

package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"

	"evbench/fabric/open"
	"evbench/results/hdf5"
	"evbench/scenario"
	"evbench/transport"
)

// version is set by the linker (see Makefile).
var version = "devel"

func versionAction(c *cli.Context) error {
	b := versionInfo()
	return printed(c, b.writeText, document("evbench/version/1", b))
}

type build struct {
	Version    string            `json:"version"`
	Go         string            `json:"go"`
	Platform   string            `json:"platform"`
	Transports []string          `json:"transports"`
	Fabrics    []string          `json:"fabrics"`
	Results    []string          `json:"results"`
	Modules    map[string]string `json:"modules"`
	Tags       []string          `json:"build_tags"`
	Without    []missing         `json:"built_without"`
}

// A missing part is one that a binary can have, and this one has not.
type missing struct {
	Part string `json:"part"`
	How  string `json:"how"` // to get it
}

func versionInfo() build {
	b := build{
		Version: version, Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Fabrics:  scenario.Kinds(), Results: []string{"csv", "json"},
		Modules: map[string]string{}, Tags: []string{}, Without: []missing{},
	}
	for _, name := range transport.Names() {
		b.add(&b.Transports, "transport", name, transport.Of(name).Needs, open.Missing(name) == nil)
	}
	b.add(&b.Results, "results", "hdf5", "libhdf5-dev and gcc", hdf5.Built)
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			b.Modules[d.Path] = d.Version
		}
	}
	return b
}

// add adds to a list of b a part that has the build tag of its name, if building it needs
// packages, or says how to get it.
func (b *build) add(list *[]string, kind, name, needs string, built bool) {
	switch {
	case !built:
		b.Without = append(b.Without, missing{kind + " " + name, fmt.Sprintf("install %s, then make build (go build -tags %s)", needs, name)})
		return
	case needs != "":
		b.Tags = append(b.Tags, name)
	}
	*list = append(*list, name)
}

func (b build) writeText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "evbench %s, %s, %s\ntransports %v, fabrics %v, results %v\n",
		b.Version, b.Go, b.Platform, b.Transports, b.Fabrics, b.Results)
	for _, m := range b.Without {
		if err == nil {
			_, err = fmt.Fprintf(w, "built without %s: %s\n", m.Part, m.How)
		}
	}
	return err
}

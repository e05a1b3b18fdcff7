// Package built answers: what is built into this binary, and how does one get the rest?
package built

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"evbench/results/hdf5"
	"evbench/transport/mpi"
)

// Info says what this binary can do.
type Info struct {
	Schema     string            `json:"schema"`
	Version    string            `json:"version"`
	Go         string            `json:"go"`
	Platform   string            `json:"platform"`
	Transports []string          `json:"transports"`
	Fabrics    []string          `json:"fabrics"`
	Results    []string          `json:"results"`
	Modules    map[string]string `json:"modules"`
	Tags       []string          `json:"build_tags"`
	Without    []Missing         `json:"built_without"`
}

// Missing is a part that a binary can have, and this one has not.
type Missing struct {
	Part string `json:"part"`
	How  string `json:"how"` // to get it
}

// parts are what a build tag adds, and what the machine that builds needs.
var parts = []struct {
	tag, part, needs string
	built            bool
	add              func(*Info)
}{
	{"mpi", "transport mpi", "libopenmpi-dev, pkg-config and gcc", mpi.Built, func(b *Info) { b.Transports = append(b.Transports, "mpi") }},
	{"hdf5", "results hdf5", "libhdf5-dev and gcc", hdf5.Built, func(b *Info) { b.Results = append(b.Results, "hdf5") }},
}

// Read returns what this binary, of a version, can do.
func Read(version string, fabrics []string) Info {
	b := Info{
		Schema: "evbench/version/1", Version: version, Go: runtime.Version(),
		Platform:   runtime.GOOS + "/" + runtime.GOARCH,
		Transports: []string{"tcp"}, Fabrics: fabrics, Results: []string{"csv", "json"},
		Modules: map[string]string{}, Tags: []string{}, Without: []Missing{},
	}
	for _, p := range parts {
		if p.built {
			b.Tags = append(b.Tags, p.tag)
			p.add(&b)
			continue
		}
		b.Without = append(b.Without, Missing{p.part, fmt.Sprintf("install %s, then make build (go build -tags %s)", p.needs, p.tag)})
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			b.Modules[d.Path] = d.Version
		}
	}
	return b
}

// WriteText writes it for people.
func (b Info) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "evbench %s, %s, %s\ntransports %v, fabrics %v, results %v\n",
		b.Version, b.Go, b.Platform, b.Transports, b.Fabrics, b.Results)
	for _, m := range b.Without {
		if err == nil {
			_, err = fmt.Fprintf(w, "built without %s: %s\n", m.Part, m.How)
		}
	}
	return err
}

package open

import (
	"fmt"
	"io"
	"maps"
	"runtime"
	"runtime/debug"

	"evbench/results"
	"evbench/scenario"
	"evbench/site/hdf5"
	"evbench/site/host"
	"evbench/transport"
)

// A Build says what is in this binary.
type Build struct {
	Version    string            `json:"version"`
	Go         string            `json:"go"`
	Platform   string            `json:"platform"`
	Transports []string          `json:"transports"`
	Fabrics    []string          `json:"fabrics"`
	Results    []string          `json:"results"`
	Modules    map[string]string `json:"modules"`
	Tags       []string          `json:"build_tags"`
	Without    []lacking         `json:"built_without"`
}

// A lacking part is an optional part that this binary lacks.
type lacking struct {
	Part string `json:"part"`
	How  string `json:"how"` // to get it
}

// Build says what is in this binary.
func (p Program) Build() Build {
	b := Build{
		Version: p.Version, Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Fabrics:  scenario.Kinds(), Results: []string{"csv", "json"},
		Modules: map[string]string{}, Tags: []string{}, Without: []lacking{},
	}
	for _, name := range transport.Names() {
		b.add(&b.Transports, "transport", name, transport.Of(name).Needs, p.missing(name) == nil)
	}
	b.add(&b.Results, "results", "hdf5", "libhdf5-dev and gcc", hdf5.Built)
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			b.Modules[d.Path] = d.Version
		}
	}
	return b
}

// add adds a part with the build tag of its name to a list of b, if building it needs packages, or
// says how to get it.
func (b *Build) add(list *[]string, kind, name, needs string, built bool) {
	if !built {
		b.Without = append(b.Without, lacking{kind + " " + name, fmt.Sprintf("install %s, then make build (go build -tags %s)", needs, name)})
		return
	}
	if needs != "" {
		b.Tags = append(b.Tags, name)
	}
	*list = append(*list, name)
}

func (b Build) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "evbench %s, %s, %s\ntransports %v, fabrics %v, results %v\n",
		b.Version, b.Go, b.Platform, b.Transports, b.Fabrics, b.Results)
	for _, m := range b.Without {
		if err == nil {
			_, err = fmt.Fprintf(w, "built without %s: %s\n", m.Part, m.How)
		}
	}
	return err
}

// Describe adds the build and this machine to a manifest.
func (b Build) Describe(m *results.Manifest) {
	m.Versions = map[string]string{"evbench": b.Version, "go": b.Go}
	maps.Copy(m.Versions, b.Modules)
	m.BuildTags = b.Tags
	f, _ := host.Read() // an error is about interfaces, which are irrelevant here
	m.Host, m.Cores, m.CPU, m.Kernel = f.Host, f.Cores, f.CPU, f.Kernel
}

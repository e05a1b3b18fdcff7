// Package layers_test answers: does each package import what it may? It is not in the root: there
// a file of C, of somebody who tries something, would be one of a Go package, and break it.
package layers_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"evbench/testing/expect"
)

// below says which rings a ring may import beside itself. Nothing imports evidence, a module of its own, and only tests import testing.
// The model of lossless networks works on those of any shape, and on their tables, which are site's.
var below = map[string]string{
	"core":     "internal",
	"internal": "",
	"site":     "core internal", "view": "core internal", "model": "core internal site",
	"study":    "core internal site view model",
	"cmd":      "core internal site view model study",
	"evidence": "core internal site view model study cmd",
	"testing":  "core internal site view model study",
}

// only says which of our packages these may import at all: a judge shares no code with what it
// judges, and a worker knows the controller by what they send each other.
var only = map[string]string{
	"scheduler/judge": "topology",
	"worker":          "scheduler builder builder/load builder/modes barrier transport controller/wire results",
	"controller":      "builder builder/load builder/modes controller/wire failover internal/port results",
	"controller/wire": "barrier builder builder/load builder/modes internal/port internal/unit results",
}

// pure are the packages that decide: no sockets, no files, no clock of their own.
var pure = strings.Fields(`
	internal/unit internal/coloring internal/heap internal/parallel internal/show internal/lists internal/kept internal/answer internal/hostlist
	internal/yamldoc internal/rules scenarios
	topology scheduler scheduler/schedules scheduler/order scheduler/balance scheduler/pods scheduler/repair scheduler/internal/fattree scheduler/internal/slots scheduler/internal/split
	scheduler/internal/phases scheduler/internal/paths scheduler/internal/traffic routing plan plan/promise plan/best scheduler/judge builder builder/load builder/modes barrier transport results failover
	site/osmlog site/network site/lft site/engines site/engines/opensm site/engines/closed site/engines/minmax
	view/trace view/compare view/figure view/html view/parts
	model/maxmin model/order model/sizes model/credit model/sim
	study/survey study/policy study/judge study/judge/foreign evidence/chart evidence/papers evidence/tables evidence/loadcurve`)

// touching are the standard packages that reach the world outside.
var touching = []string{"net", "os", "os/exec", "os/signal", "syscall", "golang.org/x/sys/unix"}

// clocks are the functions of package time that read a clock or wait.
var clocks = regexp.MustCompile(`\btime\.(Now|Since|Until|Sleep|After|AfterFunc|Tick|NewTicker|NewTimer)\b`)

type goPackage struct {
	ImportPath, Dir  string
	Imports, GoFiles []string
}

// A house is the rings, and where each top folder stands: its ring, and its place among those of
// the core, lowest first.
type house struct {
	ring  map[string]string
	place map[string]int
	lines map[string]int // the most of a ring
	names map[string]int // the most that a top folder exports
}

// folders reads rings.txt: a ring and how many lines it may have, then, indented, its top folders and how many names each may export.
// A blank line stands between any two, so that git merges what two branches changed in different ones.
func folders(t *testing.T) house {
	t.Helper()
	h := house{map[string]string{}, map[string]int{}, map[string]int{}, map[string]int{}}
	ring := ""
	for line := range strings.Lines(string(expect.Value(os.ReadFile("rings.txt"))(t))) {
		name, number, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok {
			expect.Equal(t, name, "", "a line of rings.txt without a number")
			continue
		}
		most := expect.Value(strconv.Atoi(number))(t)
		if line[0] != ' ' {
			ring, h.lines[name] = name, most
			continue
		}
		if h.ring[name] != "" {
			t.Errorf("rings.txt has %s in two places", name)
		}
		h.ring[name], h.names[name] = ring, most
		if ring == "core" {
			h.place[name] = len(h.place) + 1
		}
	}
	return h
}

// fault says why package from may not import package to; "": it may.
func (h house) fault(from, to string) string {
	inside, _, _ := strings.Cut(from, "/")
	folder, _, _ := strings.Cut(to, "/")
	a, b := h.ring[inside], h.ring[folder]
	may, held := only[from]
	switch {
	case held && !slices.Contains(strings.Fields(may), to):
		return "it may import " + may
	case a != b && !slices.Contains(strings.Fields(below[a]), b):
		return "the ring " + a + " may import " + below[a]
	case a == "core" && b == "core" && h.place[folder] > h.place[inside]:
		return folder + " stands above " + inside
	}
	return ""
}

// TestRings holds the code against the rings, and those of the core against their order.
func TestRings(t *testing.T) {
	h := folders(t)
	missing := maps.Clone(h.ring)
	for _, p := range list(t) {
		name, ours := strings.CutPrefix(p.ImportPath, "evbench/")
		if !ours {
			t.Error("the root is a package: a file of C beside go.mod would break its build")
		}
		top, _, _ := strings.Cut(name, "/")
		delete(missing, top)
		if h.ring[top] == "" {
			t.Errorf("package %s: rings.txt has no ring for the folder %s", name, top)
		}
		for _, imp := range p.Imports {
			if to, ours := strings.CutPrefix(imp, "evbench/"); ours {
				if why := h.fault(name, to); why != "" {
					t.Errorf("%s imports %s: %s", name, to, why)
				}
			}
		}
	}
	for folder := range missing {
		t.Errorf("rings.txt has %s, which does not exist", folder)
	}
}

// TestFaults shows what the rule refuses.
func TestFaults(t *testing.T) {
	h := folders(t)
	for _, tt := range []struct{ from, to, want string }{
		{"bench", "scenario", ""},
		{"bench", "site/lft", "the ring core may import internal"},
		{"topology", "plan", "plan stands above topology"},
		{"scheduler/judge", "scheduler", "it may import topology"},
		{"worker", "controller", "it may import " + only["worker"]},
		{"study/judge", "view/figure", ""},
		{"view/figure", "study/judge", "the ring view may import core internal"},
		{"cmd/evbench", "evidence/peer", "the ring cmd may import " + below["cmd"]},
		{"study/judge", "testing/expect", "the ring study may import " + below["study"]},
	} {
		if got := h.fault(tt.from, tt.to); got != tt.want {
			t.Errorf("%s imports %s: %q, want %q", tt.from, tt.to, got, tt.want)
		}
	}
}

// TestPure holds packages that decide to no world outside, and to no clock: time comes in as an
// argument.
func TestPure(t *testing.T) {
	missing := slices.Clone(pure)
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, "evbench/")
		i := slices.Index(missing, name)
		if i < 0 {
			continue
		}
		missing = slices.Delete(missing, i, i+1)
		for _, imp := range p.Imports {
			if slices.Contains(touching, imp) {
				t.Errorf("%s imports %s, but is a pure package", name, imp)
			}
		}
		for _, file := range p.GoFiles {
			text := expect.Value(os.ReadFile(filepath.Join(p.Dir, file)))(t)
			if found := clocks.Find(text); found != nil {
				t.Errorf("%s/%s has %s, but is of a pure package", name, file, found)
			}
		}
	}
	for _, name := range missing {
		t.Errorf("%s is said to be pure, and does not exist", name)
	}
}

func list(t *testing.T) []goPackage {
	t.Helper()
	var out []byte
	for _, module := range []string{"../..", "../../evidence"} {
		cmd := exec.Command("go", "list", "-C", module, "-tags=mpi,hdf5,rdma", "-json=ImportPath,Dir,Imports,GoFiles", "./...")
		out = append(out, expect.Value(cmd.Output())(t)...)
	}
	var all []goPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// escaping says which files alone may turn text into lines of a terminal, cells of CSV and elements of pages: the
// functions there escape what is in it.
var escaping = []struct {
	what, ext string
	found     *regexp.Regexp
	allowed   []string
}{
	{"control sequences: internal/show has Paint and Writer", ".go", regexp.MustCompile(`"[^"\n]*\\(x1b|033|e|u001b)`),
		[]string{"internal/show/writer.go", "internal/show/colour.go", "view/live/terminal.go"}},
	{"a writer of CSV: internal/show has WriteCSV and AppendCell", ".go", regexp.MustCompile(`\bcsv\.NewWriter\b`), nil},
	{"text as HTML: view/parts has escaped, view/html inline", ".go", regexp.MustCompile(`\btemplate\.(HTML|JS|CSS|URL|HTMLAttr)\(`), []string{"view/parts/parts.go", "view/parts/drawing.go", "view/html/tree.go", "view/html/run.go", "view/html/html.go", "view/live/parts.go"}},
	{"a line on stderr: reason.c has say", ".c", regexp.MustCompile(`\b(fprintf\(stderr|perror\(|fputs\([^;]*stderr)`), []string{"site/wrapped/c/reason.c"}},
}

// TestEscaping: text of files and of other programs becomes output through one function for each form.
func TestEscaping(t *testing.T) {
	all := os.DirFS("../..")
	expect.Must(t, fs.WalkDir(all, ".", func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (file != "." && file[0] == '.' || file == "evidence" || file == "testing" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if ext := filepath.Ext(file); err != nil || strings.HasSuffix(file, "_test.go") || ext != ".go" && ext != ".c" {
			return err
		}
		text, err := fs.ReadFile(all, file)
		for _, x := range escaping {
			if found := x.found.Find(text); found != nil && strings.HasSuffix(file, x.ext) && !slices.Contains(x.allowed, file) {
				t.Errorf("%s has %s, %s", file, found, x.what)
			}
		}
		return err
	}))
}

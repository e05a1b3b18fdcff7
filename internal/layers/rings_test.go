package layers_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"evbench/internal/expect"
)

// below says which rings a ring may import beside itself. Nothing imports referee, and only tests import testing.
// The model of lossless networks works on those of any shape, and on their tables, which are site's.
var below = map[string]string{
	"core":     "internal",
	"internal": "",
	"site":     "core internal", "view": "core internal", "model": "core internal site",
	"study":   "core internal site view model",
	"cmd":     "core internal site view model study",
	"referee": "core internal site view model study cmd",
	"testing": "core internal site view model study",
}

// TestRings holds the code against the rings of rings.txt.
func TestRings(t *testing.T) {
	ring := map[string]string{}
	for line := range strings.Lines(string(expect.Value(os.ReadFile("rings.txt"))(t))) {
		words := strings.Fields(line)
		for _, name := range words[1:] {
			if ring[name] != "" {
				t.Errorf("rings.txt has %s in two places", name)
			}
			ring[name] = words[0]
		}
	}
	var found []string
	missing := maps.Clone(ring)
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, "evbench/")
		delete(missing, name)
		from := ring[name]
		if from == "" {
			t.Errorf("package %s has no ring in rings.txt", name)
		}
		for _, imp := range p.Imports {
			to, ours := strings.CutPrefix(imp, "evbench/")
			if ours && ring[to] != from && !slices.Contains(strings.Fields(below[from]), ring[to]) {
				found = append(found, name+" -> "+to)
			}
		}
	}
	for name := range missing {
		t.Errorf("rings.txt has %s, which does not exist", name)
	}
	for _, arrow := range found {
		from := ring[strings.Fields(arrow)[0]]
		t.Errorf("%s: the ring %s may import %s", arrow, from, below[from])
	}
}

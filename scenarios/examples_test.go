package scenarios_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evbench/scenarios"
)

// Every file of this folder is an example that says what it is.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) == 0 || len(files) != len(scenarios.Examples()) {
		t.Fatalf("%v, %v; examples %v", files, err, scenarios.Examples())
	}
	for i, name := range scenarios.Examples() {
		text, ok := scenarios.Example(name)
		file, err := os.ReadFile(files[i])
		if !ok || err != nil || text != string(file) {
			t.Errorf("%s: not the text of %s; %v", name, files[i], err)
		}
		if about := scenarios.About(text); len(about) < 20 || len(about) > 160 {
			t.Errorf("%s: begins with %q", name, about)
		}
	}
	if _, ok := scenarios.Example("absent"); ok {
		t.Error("an example that there is not")
	}
}

func TestAbout(t *testing.T) {
	for text, want := range map[string]string{
		"# One. Two.\na: 1": "One", "# One\n# two? Three": "One two?", "a: 1": "", "# no end\na: 1": "no end", "": "",
		"#\n# One:\n#   - two": "One: - two", "# a b c d e f: g": "a b c d e f", "# a b; c.": "a b; c", "# FT(2;4,4), 1.5 s each. B": "FT(2;4,4), 1.5 s each",
	} {
		if got := scenarios.About(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if strings.Contains(scenarios.FailuresLHCb, "\r") {
		t.Error("line ends")
	}
}

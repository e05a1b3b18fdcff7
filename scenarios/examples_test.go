package scenarios_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evbench/scenarios"
	"evbench/testing/expect"
)

// Every file of this folder is an example that says what it is.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	expect.MustFalse(t, err != nil || len(files) == 0 || len(files) != len(scenarios.Examples()), "%v, %v; examples %v", files, err, scenarios.Examples())
	for i, name := range scenarios.Examples() {
		text, ok := scenarios.Example(name)
		file, err := os.ReadFile(files[i])
		if !ok || err != nil || text != string(file) {
			t.Errorf("%s: not the text of %s; %v", name, files[i], err)
		}
		about := scenarios.About(text)
		expect.True(t, len(about) >= 20 && len(about) <= 160, "%s: begins with %q", name, about)
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
		expect.Equal(t, scenarios.About(text), want, "%q", text)
	}
	expect.True(t, !strings.Contains(scenarios.FailuresLHCb, "\r"), "line ends")
}

package scenario_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"evbench/scenario"
)

// Every field that a scenario may have is in the reference. Which there are says the
// error about one that does not exist.
func TestFieldsAreDocumented(t *testing.T) {
	const fields, inject = "../docs/reference/scenario.md", "../docs/do/failures.md"
	for _, tt := range []struct{ in, page, before, after string }{
		{"none: 1", fields, "`", "[`.]"},
		{"fabric: {none: 1}", fields, "`fabric.", "`"},
		{"fabric: {lossless: {none: 1}}", fields, "`fabric.lossless.", "`"},
		{"event: {none: 1}", fields, "`event.", "`"},
		{"event: {sizes: {none: 1}}", fields, "`event.sizes.", "`"},
		{"launch: {none: 1}", fields, "`launch.", "`"},
		{"sim: {none: 1}", fields, "`sim.", "`"},
		{"answer: {none: 1}", fields, "{", ":"},
		{"failover: {none: 1}", fields, "`", "`"},
		{"inject: {none: 1}", inject, "`", "`"},
		{"matrix: {none: 1}", fields, "`", "`"},
		{"cases: [{none: 1}]", fields, "`", "`"},
		{"cases: [{failures: [{none: 1}]}]", fields, "[{ ]", ":"},
		{"cases: [{failures: [{random: {none: 1}}]}]", fields, "[{ ]", ":"},
	} {
		page, err := os.ReadFile(tt.page)
		if err != nil {
			t.Fatal(err)
		}
		names := knownFields(t, tt.in)
		if len(names) == 0 {
			t.Errorf("%s: no fields", tt.in)
		}
		for _, name := range names {
			if !regexp.MustCompile(tt.before + name + tt.after).Match(page) {
				t.Errorf("%s: %s is not in %s", tt.in, name, tt.page)
			}
		}
	}
}

var unknownField = regexp.MustCompile(`none: unknown field; (?:did you mean \w+\? )?there are ([\w, ]+)`)

// knownFields returns the fields that could stand where a text has "none".
func knownFields(t *testing.T, text string) []string {
	t.Helper()
	_, err := scenario.Read("test.yaml", strings.NewReader("topology: FT(2;2,2)\n"+text))
	if err == nil {
		t.Fatalf("%s: no error", text)
	}
	m := unknownField.FindStringSubmatch(err.Error())
	if m == nil {
		t.Fatalf("%s: %v", text, err)
	}
	return strings.Split(m[1], ", ")
}

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"evbench/internal/expect"
)

// No line of help is longer than a terminal that is 100 columns wide.
func TestHelpLines(t *testing.T) {
	pages := append([]string{""}, leaves("", newApp(io.Discard, io.Discard).Commands)...)
	pages = append(pages, "routes", "lab", "topo", "table", "failures", "results")
	for _, page := range pages {
		var out, said bytes.Buffer
		args := append(append([]string{"evbench"}, strings.Fields(page)...), "--help")
		if code := run(t.Context(), args, &out, &said); code != exitDone || out.Len() == 0 {
			t.Errorf("%s: exit %d, %s", page, code, said.String())
		}
		for line := range strings.Lines(out.String()) {
			n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))
			expect.True(t, n <= 100, "evbench %s: %d columns: %s", page, n, line)
		}
	}
}

// Every exit code of the program is in the table.
func TestExitCodesPage(t *testing.T) {
	page := expect.Value(os.ReadFile("../../docs/reference/exit-codes.md"))(t)
	for _, x := range exitCodes {
		expect.True(t, strings.Contains(string(page), fmt.Sprintf("\n%d | ", x.code)), "%d is not in the table", x.code)
	}
}

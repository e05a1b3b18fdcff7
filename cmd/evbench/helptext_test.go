package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
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
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
				t.Errorf("evbench %s: %d columns: %s", page, n, line)
			}
		}
	}
}

func TestFold(t *testing.T) {
	long := strings.Repeat("word ", 30)
	for in, want := range map[string]string{
		"short": "short",
		"   --flag N  " + long: "   --flag N  " + strings.TrimSpace(strings.Repeat("word ", 17)) +
			"\n             " + strings.TrimSpace(strings.Repeat("word ", 13)),
		"     evbench plan " + long: "     evbench plan " + strings.TrimSpace(strings.Repeat("word ", 16)) +
			" \\\n       " + strings.TrimSpace(strings.Repeat("word ", 14)),
		"   " + long: "   " + strings.TrimSpace(strings.Repeat("word ", 19)) + "\n   " + strings.TrimSpace(strings.Repeat("word ", 11)),
	} {
		if got := fold(strings.TrimRight(in, " ")); got != want {
			t.Errorf("%s\nis\n%s\nwant\n%s", in, got, want)
		}
	}
}

// Every exit code of the program is in the table.
func TestExitCodesPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/exit-codes.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range []int{
		exitDone, exitFailed, exitUsage, exitRegression, exitInvalid, exitHungUp, exitInterrupted, exitUnread, exitTerminated,
	} {
		if !strings.Contains(string(page), fmt.Sprintf("\n%d | ", code)) {
			t.Errorf("%d is not in the table", code)
		}
	}
}

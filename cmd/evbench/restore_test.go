package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evbench/internal/expect"
)

const foreignJournal = `{"journal":"evbench injected links 2",` +
	`"by":{"host":"another-host","pid":7,"since":"2026-03-02T09:59:00Z","kind":"command","dir":"%s","timeout_ns":600000000000},"down":[` +
	`{"link":"leaf0-spine1","since":"2026-03-02T10:00:00Z","up":{"args":["sh","-c","echo ran >ran"]},"probe":[{"args":["test","-e","ran"],"env":["A=b c"]}]}]}
`

// A journal tells what to run: one that others may have written is not believed.
func TestRestoreForeignJournal(t *testing.T) {
	for _, tt := range []struct {
		name  string
		plant func(t *testing.T, dir, journal string) error
		want  string // "": it is restored
	}{
		{"ours", func(*testing.T, string, string) error { return nil }, ""},
		{"folder of all, sticky", func(_ *testing.T, dir, _ string) error { return os.Chmod(dir, 0o777|os.ModeSticky) }, ""},
		{"folder of a group", func(_ *testing.T, dir, _ string) error { return os.Chmod(dir, 0o775) }, ""},
		{"folder of all", func(_ *testing.T, dir, _ string) error { return os.Chmod(dir, 0o777) }, "others may write"},
		{"all may write", func(_ *testing.T, _, journal string) error { return os.Chmod(journal, 0o666) }, "others may write"},
		{"a group may write", func(_ *testing.T, _, journal string) error { return os.Chmod(journal, 0o660) }, "others may write"},
		{"of nobody", func(t *testing.T, _, journal string) error {
			asRoot(t)
			return os.Chown(journal, nobody, -1)
		}, "belongs to user 65534"},
		{"a link", func(_ *testing.T, dir, journal string) error {
			real := filepath.Join(dir, "real")
			return errors.Join(os.Rename(journal, real), os.Symlink(real, journal))
		}, "is a link"},
		{"a second name", func(_ *testing.T, dir, journal string) error { return os.Link(journal, filepath.Join(dir, "second")) }, "2 names"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "journal", fmt.Sprintf(foreignJournal, dir))
			journal := filepath.Join(dir, "journal")
			expect.Must(t, tt.plant(t, dir, journal))
			code, out, said := call(t, "failures", "restore", journal)
			_, ran := os.Stat(filepath.Join(dir, "ran"))
			if tt.want == "" {
				expect.True(t, code == exitDone && ran == nil && strings.Contains(out, "leaf0-spine1: brought up"),
					"exit %d, %v: %s%s", code, ran, out, said)
				return
			}
			expect.True(t, code == exitUsage && ran != nil && strings.Contains(said, tt.want) && strings.Contains(said, journal),
				"exit %d, %v: %s%s", code, ran, out, said)
		})
	}
}

// What will be run is shown before, and with --dry-run that is all.
func TestRestoreShows(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "journal", fmt.Sprintf(foreignJournal, dir))
	journal := filepath.Join(dir, "journal")
	shown := []string{"in \"" + dir, "leaf0-spine1", "sh -c 'echo ran >ran'", "'A=b c' test -e ran"}
	all := func(text string) {
		t.Helper()
		for _, s := range shown {
			expect.Contains(t, text, s)
		}
	}
	code, out, said := call(t, "failures", "restore", "--dry-run", journal)
	all(out)
	if _, err := os.Stat(filepath.Join(dir, "ran")); code != exitDone || err == nil {
		t.Errorf("exit %d, %v: %s", code, err, said)
	}
	if code, out, said = call(t, "failures", "restore", "--dry-run", "--json", journal); code != exitDone ||
		!strings.Contains(out, `"outcome":"dry run","up":"sh -c 'echo ran \u003eran'"`) {
		t.Errorf("exit %d: %s%s", code, out, said)
	}
	code, out, said = call(t, "failures", "restore", journal)
	all(said)
	expect.True(t, code == exitDone && strings.Contains(out, "leaf0-spine1: brought up"), "exit %d: %s%s", code, out, said)
}

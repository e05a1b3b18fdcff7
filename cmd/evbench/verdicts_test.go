package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"evbench/testing/expect"
)

// Verdicts of all commands, as testdata/verdicts.txt has them. What an answer says to type next can be
// typed: it is no wrong use.
func TestVerdicts(t *testing.T) {
	dir := t.TempDir()
	expect.Must(t, os.CopyFS(dir, os.DirFS("testdata/verdicts")))
	log := expect.Value(os.ReadFile("../../scenarios/failures-lhcb.log"))(t)
	write(t, dir, "failures-lhcb.log", string(log))
	const golden = "testdata/verdicts.txt"
	want := string(expect.Value(os.ReadFile(golden))(t))
	var got strings.Builder
	answer, next := regexp.MustCompile(`(?m)^(GOOD|BAD|NOT KNOWN): .*$(\n  [^ ].*$)*`), regexp.MustCompile(`(?m)^  next     (.*)$`)
	typed := map[string]bool{}
	for line := range strings.Lines(want) {
		command, ok := strings.CutPrefix(line, "$ ")
		if strings.HasPrefix(line, "#") {
			got.WriteString(line)
		}
		if !ok {
			continue
		}
		_, stdout, stderr := sh(t, dir, command)
		said := stdout + stderr
		first, _, _ := strings.Cut(strings.ReplaceAll(answer.FindString(said), "\n  ", " "), " because  ")
		first, _, _ = strings.Cut(first, " next     ")
		got.WriteString(line + first + "\n")
		if !answer.MatchString(said) {
			t.Errorf("%s: no verdict in\n%s", strings.TrimSpace(command), said)
		}
		for _, m := range next.FindAllStringSubmatch(said, -1) {
			if typed[m[1]] {
				continue
			}
			typed[m[1]] = true
			code, _, stderr := sh(t, dir, m[1])
			expect.True(t, code == exitDone || code == exitFailed, "%snext %s: exit code %d, %s", line, m[1], code, stderr)
		}
	}
	if *update {
		expect.Must(t, os.WriteFile(filepath.FromSlash(golden), []byte(got.String()), 0o644))
	} else {
		expect.Equal(t, got.String(), want, "verdicts")
	}
}

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"evbench/internal/answer"
	"evbench/testing/expect"
	"evbench/testing/need"
)

// The first lines of commands, as testdata/answers has them, a file a command; docs/learn/measuring.md says what
// they mean. A row is a command ($), in a folder with the files of testdata/verdicts, after others that prepare it (%), and its whole first line, written by
// hand: what is right, not what was printed. What an answer says to type next can be typed: it is no wrong use.
func TestVerdicts(t *testing.T) {
	need.Heavy(t)
	files := expect.Value(filepath.Glob("testdata/answers/*.txt"))(t)
	typed := map[string]bool{}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			if filepath.Base(file) == "doctor.txt" {
				need.Namespaces(t)
			}
			dir := t.TempDir()
			expect.Must(t, os.CopyFS(dir, os.DirFS("testdata/verdicts")))
			log := expect.Value(os.ReadFile("../../scenarios/failures-lhcb.log"))(t)
			write(t, dir, "failures-lhcb.log", string(log))
			want := string(expect.Value(os.ReadFile(file))(t))
			got := answersOf(t, dir, want, typed)
			if *update {
				expect.Must(t, os.WriteFile(file, []byte(got), 0o644))
				return
			}
			expect.Equal(t, got, want, "answers")
		})
	}
}

var (
	answerLines = regexp.MustCompile(`(?m)^(GOOD|BAD|NOT KNOWN): .*$(\n  [^ ].*$)*`)
	nextLine    = regexp.MustCompile(`(?m)^  next     (.*)$`)
)

// answersOf runs the commands of a table, and what they say to type next.
func answersOf(t *testing.T, dir, table string, typed map[string]bool) string {
	var got strings.Builder
	for line := range strings.Lines(table) {
		command, ok := strings.CutPrefix(line, "$ ")
		if prepare, is := strings.CutPrefix(line, "% "); is {
			sh(t, dir, prepare)
			got.WriteString(line)
		} else if strings.HasPrefix(line, "#") {
			got.WriteString(line)
		}
		if !ok {
			continue
		}
		_, stdout, stderr := sh(t, dir, command)
		said := stdout + stderr
		first, _, _ := strings.Cut(strings.ReplaceAll(answerLines.FindString(said), "\n  ", " "), " because  ")
		first, _, _ = strings.Cut(first, " next     ")
		got.WriteString(line + first + "\n")
		if !answerLines.MatchString(said) {
			t.Errorf("%s: no verdict in\n%s", strings.TrimSpace(command), said)
		}
		for _, m := range nextLine.FindAllStringSubmatch(said, -1) {
			if typed[m[1]] {
				continue
			}
			typed[m[1]] = true
			next := m[1]
			if strings.Contains(next, "evbench run ") {
				next += " --dry-run" // that it measures is shown elsewhere
			}
			code, _, stderr := sh(t, dir, next)
			expect.True(t, code == exitDone || code == exitFailed, "%snext %s: exit code %d, %s", line, m[1], code, stderr)
		}
	}
	return got.String()
}

// The first line of judge is taken in at once: 30 words, and three figures, at most.
func TestFirstLinesAreShort(t *testing.T) {
	text := string(expect.Value(os.ReadFile("testdata/answers/judge.txt"))(t))
	for line := range strings.Lines(text) {
		if _, said, is := strings.Cut(line, ": "); is && !strings.HasPrefix(line, "$ ") {
			expect.True(t, len(strings.Fields(said)) <= 30 && answer.Numbers(said) <= 3, "%d words, %d figures: %s", len(strings.Fields(said)), answer.Numbers(said), line)
		}
	}
}

// Outputs and results as people have them, beside the checkout: each is answered rightly.
func TestCasesOfOutputs(t *testing.T) {
	script := need.Cases(t, "../..", "outputs/run.sh")
	_, said, _ := sh(t, t.TempDir(), "EVBENCH=evbench bash "+script)
	m := regexp.MustCompile(`(?m)^(\d+) of (\d+) right$`).FindStringSubmatch(said)
	expect.True(t, m != nil && m[1] == m[2], "%s", said)
}

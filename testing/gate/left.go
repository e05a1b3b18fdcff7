package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"evbench/internal/proc"
)

// leftovers returns what a gate may leave behind on this machine: mounts, named network namespaces, and temporary folders.
func leftovers() (map[string]bool, error) {
	all := map[string]bool{}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 4 {
			all["mount at "+f[4]] = true
		}
	}
	for what, dir := range map[string]string{"network namespace": "/run/netns", "temporary": os.TempDir()} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			all[what+" "+filepath.Join(dir, e.Name())] = true
		}
	}
	return all, nil
}

// processes returns those of this machine that have a mark in their environment, by their numbers, with their command lines.
func processes(mark string) map[int]string {
	all := map[int]string{}
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(append([]byte{0}, env...), []byte("\x00"+mark+"\x00")) {
			continue // of another user, gone, or not of this gate
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		all[pid] = strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
	}
	return all
}

// patience is how long what is about to end may take.
var patience = 10 * time.Second

// left says what of this gate has outlived it: processes, which are killed, mounts and namespaces. Folders among the
// temporary ones are shown: other programs make some there, too.
func (g *gate) left(before map[string]bool, mark string) (said []string) {
	alive := processes(mark)
	for end := time.Now().Add(patience); len(alive) > 0 && time.Now().Before(end); alive = processes(mark) {
		time.Sleep(100 * time.Millisecond)
	}
	for _, pid := range slices.Sorted(maps.Keys(alive)) {
		said = append(said, fmt.Sprintf("process %d outlived the gate, and was killed: %s", pid, alive[pid]))
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	after, err := leftovers()
	if err != nil {
		said = append(said, err.Error())
	}
	var folders []string
	for _, what := range slices.Sorted(maps.Keys(after)) {
		path, temporary := strings.CutPrefix(what, "temporary ")
		switch {
		case before[what] || path == g.logs:
		case temporary:
			folders = append(folders, filepath.Base(path))
		default:
			said = append(said, what+" outlived the gate")
		}
	}
	if folders != nil {
		fmt.Fprintf(g.out, "\n== new in %s\n%s\n", os.TempDir(), strings.Join(folders, " "))
	}
	return said
}

// check is a step of the gate's own: it fails if there is something to say.
func (g *gate) check(name string, said []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	fmt.Fprintf(g.out, "\n== %s (%.0f s)\n", name, time.Since(g.began).Seconds())
	if said == nil {
		return
	}
	text := strings.Join(said, "\n") + "\n"
	log := filepath.Join(g.logs, strings.ReplaceAll(name, " ", "-")+".log")
	_ = os.WriteFile(log, []byte(text), 0o600) // it is printed, too
	fmt.Fprint(g.out, text)
	g.failed = append(g.failed, failure{step: name, log: log, tail: text})
}

// state is what differs from the last commit, line by line, new files too.
func state(ctx context.Context) (string, error) {
	names, err := git(ctx, "status", "--porcelain", "--untracked-files=all")
	if err != nil {
		return "", err
	}
	lines, err := git(ctx, "diff")
	return names + lines, err
}

func git(ctx context.Context, args ...string) (string, error) {
	out, err := proc.Call{Limit: time.Minute, Most: 256 << 20}.Answer(ctx, "git", args...)
	return string(out), err
}

// unchanged says which files the gate has changed or made since a state, and what is committed of other folders than the rings:
// outputs, by mistake.
func unchanged(ctx context.Context, before string) (said []string) {
	after, err := state(ctx)
	if err != nil {
		said = append(said, err.Error())
	}
	if after != before {
		said = append(said, "the gate changed files, or left new ones:")
		for line := range strings.Lines(after) {
			if !strings.Contains(before, line) {
				said = append(said, strings.TrimSuffix(line, "\n"))
			}
		}
	}
	rings, err := os.ReadFile("internal/layers/rings.txt")
	if err != nil {
		said = append(said, err.Error())
	}
	folders := []string{"docs", "findings"}
	for word := range strings.FieldsSeq(string(rings)) {
		name, _, _ := strings.Cut(word, "=")
		folders = append(folders, name)
	}
	stray := map[string]bool{}
	files, err := git(ctx, "ls-files")
	if err != nil {
		said = append(said, err.Error())
	}
	for file := range strings.Lines(files) {
		switch folder, _, below := strings.Cut(strings.TrimSpace(file), "/"); {
		case strings.HasPrefix(folder, "."), below && slices.Contains(folders, folder), !below && ofRoot.MatchString(folder):
		default:
			stray[folder] = true
		}
	}
	if len(stray) > 0 {
		said = append(said, "not of the project, by internal/layers/rings.txt: "+strings.Join(slices.Sorted(maps.Keys(stray)), " "))
	}
	return said
}

// ofRoot are the files that stand in no folder.
var ofRoot = regexp.MustCompile(`^(?:[A-Z]|go\.|staticcheck\.conf$)`)

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"evbench/internal/programs"
)

// A gate runs steps and keeps what came out.
type gate struct {
	logs  string // folder of a log for each step
	out   io.Writer
	env   []string
	began time.Time

	mu     sync.Mutex // also of what is printed
	failed []failure
	slow   []slowTest
	skips  map[string][]string // tests, by the reason why they were skipped
}

// A failure is a step that failed, with packages and their tests where it tells them.
type failure struct {
	step, log string
	tests     []string // "evbench/plan 0.1s: TestA TestB"
	tail      string   // of what is no test: the last lines
}

// A slowTest is a test of the highest level.
type slowTest struct {
	sec        float64
	name, step string
}

// rows runs the steps of each row one behind the other, and the rows side by side. What fails does not keep the rest from running.
func (g *gate) rows(ctx context.Context, steps []step) {
	rows, ended := map[string][]step{}, map[string]chan struct{}{}
	for _, s := range steps {
		rows[s.row] = append(rows[s.row], s)
		ended[s.name] = make(chan struct{})
	}
	var all sync.WaitGroup
	for _, row := range rows {
		all.Go(func() {
			for _, s := range row {
				if before := ended[s.after]; before != nil {
					<-before
				}
				g.step(ctx, s)
				close(ended[s.name])
			}
		})
	}
	all.Wait()
}

// step runs a command, with its output in a log of the step's name, and prints the log, how long it took and how much of that
// the processors worked. What it has left of its process group is killed.
func (g *gate) step(ctx context.Context, s step) {
	if ctx.Err() != nil {
		return
	}
	from := time.Now()
	log := filepath.Join(g.logs, strings.ReplaceAll(s.name, " ", "-")+".log")
	file, err := os.Create(log)
	if err != nil {
		g.check(s.name, []string{err.Error()})
		return
	}
	defer file.Close()
	r := &reading{step: s.name, skips: map[string][]string{}, file: file}
	cmd := programs.Command(ctx, os.TempDir(), s.args[0], s.args[1:]...)
	cmd.Env = slices.Concat(os.Environ(), g.env)
	if s.counts {
		cmd.Env = append(cmd.Env, counting()...)
	}
	err = r.run(cmd, slices.Contains(s.args, "-json"))
	g.mu.Lock()
	defer g.mu.Unlock()
	fmt.Fprintf(g.out, "\n== %s (%.0f s)\n%s", s.name, from.Sub(g.began).Seconds(), r.log.Bytes())
	var worked [2]time.Duration
	if state := cmd.ProcessState; state != nil {
		worked = [2]time.Duration{state.UserTime(), state.SystemTime()}
	}
	fmt.Fprintf(g.out, "   %.3f s; the processors worked %.3f + %.3f s\n", time.Since(from).Seconds(), worked[0].Seconds(), worked[1].Seconds())
	g.slow = append(g.slow, r.slow...)
	for reason, names := range r.skips {
		g.skips[reason] = append(g.skips[reason], names...)
	}
	if err != nil {
		g.failed = append(g.failed, r.failure(err, log))
	}
}

// counting is what commands have in their environment that count: collecting garbage of small heaps takes a fourth of their time.
func counting() []string {
	return []string{"GOGC=" + or(os.Getenv("GOGC"), "400"), "GOMEMLIMIT=" + or(os.Getenv("GOMEMLIMIT"), "3GiB")}
}

// or is the first text that is not empty.
func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// A reading is what a step says: of go test -json the same lines that it prints without -v, else all.
type reading struct {
	step  string
	log   bytes.Buffer
	file  io.Writer // the log, while it grows
	slow  []slowTest
	skips map[string][]string
	tests []string // packages with failed tests
	said  map[string]*bytes.Buffer
	names map[string][]string
}

// write adds to the log, also that of a gate which somebody stops.
func (r *reading) write(text []byte) {
	r.log.Write(text)
	_, _ = r.file.Write(text) // what cannot be written there is printed at the step's end
}

// run runs a command to its end, and kills what is left of its group.
func (r *reading) run(cmd *exec.Cmd, events bool) error {
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = in, in
	ended := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // it dies with the thread that started it
		defer runtime.UnlockOSThread()
		defer in.Close()
		err := cmd.Run()
		if cmd.Process != nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it has left, if anything
		}
		_ = out.SetReadDeadline(time.Now().Add(patience)) // what has left its group may write on
		ended <- err
	}()
	if events {
		r.said, r.names = map[string]*bytes.Buffer{}, map[string][]string{}
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if !events || len(line) == 0 || line[0] != '{' || json.Unmarshal(line, &e) != nil {
			r.write(line)
		} else {
			r.event(e)
		}
		if err != nil {
			break
		}
	}
	return <-ended
}

// An event is one of go test -json, as cmd/test2json describes it.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// event keeps what tests say until they have ended: what a test that passes says, is not shown.
func (r *reading) event(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output", "build-output":
		if e.Test == "" {
			if e.Output != "PASS\n" && !strings.HasPrefix(e.Output, "-test.shuffle ") {
				r.write([]byte(e.Output))
			}
			return
		}
		if r.said[key] == nil {
			r.said[key] = &bytes.Buffer{}
		}
		r.said[key].WriteString(e.Output)
	case "pass", "skip", "fail":
		said := r.said[key]
		delete(r.said, key)
		switch {
		case e.Test == "":
			r.ended(e)
			return
		case e.Action == "fail":
			r.names[e.Package] = append(r.names[e.Package], e.Test)
			if said != nil {
				r.write(said.Bytes())
			}
		case e.Action == "skip":
			reason := reason(said)
			r.skips[reason] = append(r.skips[reason], strings.TrimPrefix(e.Package, "evbench/")+" "+e.Test)
		}
		if !strings.Contains(e.Test, "/") {
			r.slow = append(r.slow, slowTest{e.Elapsed, strings.TrimPrefix(e.Package, "evbench/") + " " + e.Test, r.step})
		}
	}
}

// ended is the end of a package: of one that failed all is shown that its tests say which have not ended.
func (r *reading) ended(e event) {
	if e.Action != "fail" {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(r.said)) {
		if strings.HasPrefix(key, e.Package+" ") {
			r.write(r.said[key].Bytes())
			r.names[e.Package] = append(r.names[e.Package], strings.TrimPrefix(key, e.Package+" ")+" (did not end)")
			delete(r.said, key)
		}
	}
	tests := " no test is named, the log says why"
	if names := r.names[e.Package]; names != nil {
		slices.Sort(names)
		tests = " " + strings.Join(names, " ")
	}
	r.tests = append(r.tests, fmt.Sprintf("%s %.1fs:%s", e.Package, e.Elapsed, tests))
}

// where is the place of a line of a test's log.
var where = regexp.MustCompile(`^\s*[\w.-]+\.go:\d+: `)

// reason is what a skipped test has said of what it needs, or the last thing: a script's comes before its log.
func reason(said *bytes.Buffer) string {
	text := "no reason is given"
	if said == nil {
		return text
	}
	for line := range strings.Lines(said.String()) {
		if place := where.FindString(line); place != "" && !strings.HasPrefix(text, "need: ") {
			text = strings.TrimSpace(line[len(place):])
		}
	}
	return text
}

// failedLine tells in the output of other programs which tests failed, and in which package.
var failedLine = regexp.MustCompile(`(?m)^(?: *--- FAIL: (\S+)|FAIL\t(.*)|(?:ok  |\?   )\t.*)`)

// failure names packages and tests that failed, and the last lines of a step that names none.
func (r *reading) failure(err error, log string) failure {
	f := failure{step: r.step, log: log, tests: r.tests}
	if r.names == nil {
		var names []string
		for _, m := range failedLine.FindAllSubmatch(r.log.Bytes(), -1) {
			switch {
			case m[1] != nil:
				names = append(names, string(m[1]))
			case m[2] != nil:
				f.tests = append(f.tests, strings.ReplaceAll(string(m[2]), "\t", " ")+": "+or(strings.Join(names, " "), "no test is named, the log says why"))
				names = nil
			default:
				names = nil
			}
		}
	}
	if f.tests == nil {
		lines := strings.Split(strings.TrimRight(r.log.String(), "\n"), "\n")
		f.tail = fmt.Sprintf("%s\n%v", strings.Join(lines[max(0, len(lines)-20):], "\n"), err)
	}
	return f
}

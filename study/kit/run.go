package kit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"evbench/internal/answer"
	"evbench/internal/atomicfile"
	"evbench/internal/proc"
	"evbench/model/sweep"
)

// JournalFile is the file of a kit that lists the finished steps.
const JournalFile = "steps.journal"

// Run writes the scenario and the network to dir and runs the steps that are not in the journal,
// one at a time: the steps are the items of a sweep. network is the content of the file that
// Topology names. Each step is announced on progress.
func (k Kit) Run(ctx context.Context, dir string, network []byte, j *sweep.Journal, progress io.Writer) ([]Done, error) {
	files := []atomicfile.File{{Name: filepath.Join(dir, ScenarioFile), Write: plain(k.Scenario())}}
	if k.Topology == TopologyFile {
		files = append(files, atomicfile.File{Name: filepath.Join(dir, TopologyFile), Write: plain(string(network))})
	}
	if err := atomicfile.WriteAll(files...); err != nil {
		return nil, err
	}
	steps := k.Steps()
	done := make([]Done, len(steps))
	return done, sweep.Run(ctx, &sweep.Sweep{Kept: j}, sweep.Items[Done]{
		N: len(steps), Workers: 1,
		Work: func(ctx context.Context, i int) (Done, error) {
			fmt.Fprintf(progress, "[%d/%d] %s\n", i+1, len(steps), steps[i].Name)
			return steps[i].run(ctx, dir)
		},
		Put: func(i int, d Done) error { done[i] = d; return nil },
	})
}

// stderr is the file for standard error.
func (s Step) stderr() string { return s.Name + ".stderr" }

func (s Step) run(ctx context.Context, dir string) (Done, error) {
	d := Done{Step: s.Name}
	if s.Args[0] != "evbench" {
		return s.ask(ctx, dir)
	}
	if s.Name == "baseline" { // remove what a killed run has left
		if err := os.RemoveAll(filepath.Join(dir, RunDir)); err != nil {
			return d, err
		}
	}
	var out, said bytes.Buffer
	cmd := proc.Command(ctx, os.TempDir(), "/proc/self/exe", s.Args[1:]...)
	cmd.Args[0], cmd.Dir, cmd.Stdout, cmd.Stderr = s.Args[0], dir, &out, &said
	err := cmd.Run()
	if ctx.Err() != nil {
		return d, context.Cause(ctx)
	}
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		return d, err
	}
	if d.Code = cmd.ProcessState.ExitCode(); d.Failed() {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		d.Said = strings.Join(lines[max(0, len(lines)-5):], "; ")
	}
	return d, s.keep(dir, out.String(), said.String())
}

func (s Step) keep(dir, out, said string) error {
	return atomicfile.WriteAll(
		atomicfile.File{Name: filepath.Join(dir, s.Out), Write: plain(out)},
		atomicfile.File{Name: filepath.Join(dir, s.stderr()), Write: plain(said)},
	)
}

// asking is how long a program of others may take.
const asking = 10 * time.Minute

// ask runs a program of others, if it is there.
func (s Step) ask(ctx context.Context, dir string) (Done, error) {
	d := Done{Step: s.Name}
	out, err := proc.Call{Limit: asking, Most: atomicfile.MaxList}.Answer(ctx, s.Args[0], s.Args[1:]...)
	switch {
	case ctx.Err() != nil:
		return d, context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		d.Absent = true
		return d, nil
	case err != nil:
		d.Code, d.Said = 1, err.Error()
	}
	return d, s.keep(dir, string(out), d.Said)
}

// plain returns a function that writes a text unchanged.
func plain(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

// ReadVerdict reads the answer of the judge, or nil if there is no answer.
func ReadVerdict(dir string) *answer.Answer {
	var doc struct{ Answer *answer.Answer }
	b, err := os.ReadFile(filepath.Join(dir, VerdictFile))
	if err != nil || json.Unmarshal(b, &doc) != nil {
		return nil
	}
	return doc.Answer
}

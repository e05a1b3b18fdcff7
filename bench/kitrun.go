package bench

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"evbench/internal/answer"
	"evbench/internal/atomicfile"
	"evbench/internal/proc"
	"evbench/internal/sweep"
	"evbench/results"
)

// KitJournal is the file of a kit that lists the finished steps.
const KitJournal = "steps.journal"

// Run writes the scenario and the network to dir and runs the steps that are not in the journal,
// one at a time: the steps are the items of a sweep. network is the content of the file that
// Topology names. Each step is announced on progress.
func (k Kit) Run(ctx context.Context, dir string, network []byte, j *sweep.Journal, progress io.Writer) ([]KitDone, error) {
	files := []atomicfile.File{{Name: filepath.Join(dir, KitScenario), Write: plain(k.Scenario())}}
	if k.Topology == KitTopology {
		files = append(files, atomicfile.File{Name: filepath.Join(dir, KitTopology), Write: plain(string(network))})
	}
	if err := atomicfile.WriteAll(files...); err != nil {
		return nil, err
	}
	steps := k.Steps()
	done := make([]KitDone, len(steps))
	return done, sweep.Run(ctx, &sweep.Sweep{Kept: j}, sweep.Items[KitDone]{
		N: len(steps), Workers: 1,
		Work: func(ctx context.Context, i int) (KitDone, error) {
			fmt.Fprintf(progress, "[%d/%d] %s\n", i+1, len(steps), steps[i].Name)
			return steps[i].run(ctx, dir)
		},
		Put: func(i int, d KitDone) error { done[i] = d; return nil },
	})
}

func (s KitStep) run(ctx context.Context, dir string) (KitDone, error) {
	d := KitDone{Step: s.Name}
	program, err := "/proc/self/exe", error(nil)
	if s.Args[0] != "evbench" {
		if program, err = exec.LookPath(s.Args[0]); err != nil {
			d.Absent = true
			return d, nil
		}
	}
	if s.Name == "baseline" { // remove what a killed run has left
		if err := os.RemoveAll(filepath.Join(dir, KitRun)); err != nil {
			return d, err
		}
	}
	var out, said bytes.Buffer
	cmd := proc.Command(ctx, os.TempDir(), program, s.Args[1:]...)
	cmd.Args[0], cmd.Dir, cmd.Stdout, cmd.Stderr = s.Args[0], dir, &out, &said
	err = cmd.Run()
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
	return d, atomicfile.WriteAll(
		atomicfile.File{Name: filepath.Join(dir, s.Out), Write: plain(out.String())},
		atomicfile.File{Name: filepath.Join(dir, s.Name+".stderr"), Write: plain(said.String())},
	)
}

// plain returns a function that writes a text unchanged.
func plain(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

// ReadKitVerdict reads the answer of the judge, or nil if there is no answer.
func ReadKitVerdict(dir string) *answer.Answer {
	var doc struct{ Answer *answer.Answer }
	b, err := os.ReadFile(filepath.Join(dir, KitVerdict))
	if err != nil || json.Unmarshal(b, &doc) != nil {
		return nil
	}
	return doc.Answer
}

// PackKit writes the archive: the answer, then all files of the directory by name. If names are
// given, it replaces them and the host names in the manifest and of this host.
func PackKit(dir, archive string, a answer.Answer, names []string) error {
	replace := func(text string) string { return text }
	if names != nil {
		var m results.Manifest
		if b, err := os.ReadFile(filepath.Join(dir, KitRun, "manifest.json")); err == nil && json.Unmarshal(b, &m) == nil {
			for _, h := range m.Hosts {
				names = append(names, h.Host)
			}
		}
		if here, err := os.Hostname(); err == nil {
			names = append(names, here)
		}
		replace = Anonymous(names)
	}
	var files []string
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && e.Name() != KitJournal && filepath.Ext(name) != ".h5" {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		return err
	}
	said, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return atomicfile.Write(archive, func(w io.Writer) error {
		z := gzip.NewWriter(w)
		t := &kitArchive{tar.NewWriter(z), filepath.Base(dir), replace}
		err := t.add("answer.json", append(said, '\n'))
		for _, name := range files {
			b, readErr := os.ReadFile(name)
			inside, relErr := filepath.Rel(dir, name)
			if err = errors.Join(err, readErr, relErr); err == nil {
				err = t.add(inside, b)
			}
		}
		return errors.Join(err, t.Close(), z.Close())
	})
}

// A kitArchive is an archive of one directory with names replaced.
type kitArchive struct {
	*tar.Writer
	root    string
	replace func(string) string
}

func (t *kitArchive) add(name string, data []byte) error {
	text := t.replace(string(data))
	h := &tar.Header{Name: filepath.Join(t.root, t.replace(name)), Mode: 0o644, Size: int64(len(text)), ModTime: time.Now(), Format: tar.FormatPAX}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.WriteString(t, text)
	return err
}

// Package input answers: what do the files and numbers say that a result is judged by? It
// changes no file.
package input

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"evbench/internal/atomicfile"
	"evbench/internal/unit"
	"evbench/study/judge"
	"evbench/study/judge/foreign"
	"evbench/topology/network"
)

// Words are what a user wrote of the job and its result, "" where nothing.
type Words struct {
	Hosts                string // file with the hosts of the job
	Result, Format, Case string // file, directory or number; its form; of several results the one
	Rate, Size           string // of links; of a message
}

// Read sets Hosts, Rate and Result of an input that has its network.
func (w Words) Read(in *judge.Input) error {
	var err error
	if in.Result, in.ResultFile, err = w.result(); err != nil {
		return err
	}
	switch r := in.Result; {
	case w.Size != "" && (r == nil || r.Bytes == 0):
		return errors.New("--size is for the time of a call, or chooses among the sizes of an output: there are none here")
	case w.Case != "" && (r == nil || r.Format != foreign.Own):
		return errors.New("--case chooses among the cases of our own results: there are none here")
	}
	if in.Hosts, err = w.hosts(in); err != nil {
		return err
	}
	if w.Rate != "" {
		r, err := unit.ParseRate(w.Rate)
		if err != nil {
			return fmt.Errorf("--rate: %w", err)
		}
		if in.Rate = float64(r); r <= 0 {
			return fmt.Errorf("--rate %s: must be above 0", w.Rate)
		}
	}
	return nil
}

// hosts reads the list of hosts; without one they are those of the result, if it names them,
// else all of the network.
func (w Words) hosts(in *judge.Input) (h network.Job, err error) {
	switch {
	case w.Hosts != "":
		data, err := atomicfile.Read(w.Hosts, atomicfile.MaxList)
		if err != nil {
			return h, err
		}
		if h, err = network.ReadJob(bytes.NewReader(data), in.Net); err != nil {
			return h, fmt.Errorf("%s: %w", w.Hosts, err)
		}
		return h, nil
	case in.Result != nil && in.Result.Pairs != nil:
		if h, err = judge.HostsOf(in.Result.Pairs, in.Net); err != nil {
			return h, fmt.Errorf("%s: %w", w.Result, err)
		}
		return h, nil
	case in.Net.Hosts() < 2:
		return h, fmt.Errorf("--network %s: %d hosts: an exchange needs two", in.Name, in.Net.Hosts())
	}
	return network.AllHosts(in.Net), nil
}

// result reads the file of a result, if there is one, else a number, and returns the name of the file.
func (w Words) result() (*foreign.Result, string, error) {
	src, o := w.Result, foreign.Options{Format: w.Format, Case: w.Case}
	if !slices.Contains(foreign.Formats(), o.Format) {
		return nil, "", fmt.Errorf("--format %q: there are %s", o.Format, strings.Join(foreign.Formats(), ", "))
	}
	if w.Size != "" {
		b, err := unit.ParseBytes(w.Size)
		if err != nil {
			return nil, "", fmt.Errorf("--size: %w", err)
		}
		if o.Size = int64(b); b <= 0 {
			return nil, "", fmt.Errorf("--size %s: must be above 0", w.Size)
		}
	}
	if src == "" {
		return nil, "", nil
	}
	if info, err := os.Stat(src); err == nil && info.IsDir() {
		src = filepath.Join(src, "summary.json")
	} else if errors.Is(err, fs.ErrNotExist) && o.Format == foreign.Auto {
		r, err := foreign.ParseNumber(src, o.Size)
		if err != nil {
			return nil, "", fmt.Errorf("--result %w", err)
		}
		return r, "", nil
	}
	data, err := atomicfile.Read(src, atomicfile.MaxList)
	if err != nil {
		return nil, "", err
	}
	r, err := foreign.Read(data, o)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", src, err)
	}
	return r, src, nil
}

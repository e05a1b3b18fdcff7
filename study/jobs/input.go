package jobs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"evbench/companion"
	"evbench/internal/atomicfile"
	"evbench/internal/proc"
	"evbench/internal/show"
	"evbench/site/lft"
	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/site/opensm"
)

// Options name the sources of jobs and network and the target of tables. An error in them is an
// error of the input (proc.UsageError).
type Options struct {
	Source   string           // what the network is called; "": Discover
	Net      *network.Network // nil: Discover prints it
	Discover string           // command, ended after Wait
	List     string           // file of jobs; "-": standard input
	Queue    string           // command that prints the jobs in place of List; "": none
	Wait     time.Duration
	Classes  string // file; "": all hosts compute
	Lanes    int    // as for Following

	Out     string          // file for the tables; "": none
	JSON    bool            // its form; false: OpenSM's
	Process string          // the OpenSM to signal when Out is written; "": none
	Load    *opensm.Manager // loads the tables in place of Out; nil: nothing is loaded
}

// NewFollowing reads the inputs that do not change.
func NewFollowing(o Options) (*Following, error) {
	f := &Following{Source: o.Source, Classes: new(Classes), Lanes: o.Lanes, Install: (&target{o: o}).put}
	var err error
	if o.Classes != "" {
		if f.Classes, err = readClasses(o.Classes); err != nil {
			return nil, proc.Usage(err)
		}
	}
	if f.Network, err = o.network(); err != nil {
		return nil, proc.Usage(err)
	}
	f.Source, f.From = cmp.Or(f.Source, o.Discover), cmp.Or(o.Queue, o.List)
	f.List, err = o.list()
	return f, proc.Usage(err)
}

// Once routes for the jobs that run now. last is the file with the jobs of the last time, which
// Once replaces. It may not exist yet; "" keeps none.
func Once(ctx context.Context, f *Following, last string) (*Routed, error) {
	n, err := f.Network(ctx)
	if err != nil {
		return nil, proc.Usage(err)
	}
	list, err := f.List(ctx)
	if err != nil {
		return nil, proc.Usage(err)
	}
	r := NewRouted(f.Source)
	p := r.Place(n, list, f.Classes)
	if r.Jobs+r.OneSwitch == 0 && len(r.Unknown) > 0 {
		return nil, proc.Usage(fmt.Errorf("%s: no host of its jobs is in the network %s: %s", f.From, f.Source, show.Few(r.Unknown)))
	}
	if last != "" {
		if r.Change, err = changeSince(last, list); err != nil {
			return nil, proc.Usage(err)
		}
	}
	t, err := r.Route(n, p, f.Lanes)
	if err != nil {
		return nil, proc.Usage(err)
	}
	if err := f.Install(ctx, r, t); err != nil {
		return nil, err
	}
	if last == "" {
		return r, nil
	}
	return r, atomicfile.Write(last, func(w io.Writer) error { return Write(w, list) })
}

func changeSince(name string, list []Job) (*Change, error) {
	old, err := atomicfile.Read(name, atomicfile.MaxList)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("--last: %w", err)
	}
	last, err := Read(bytes.NewReader(old))
	if err != nil {
		return nil, fmt.Errorf("--last %s: %w", name, err)
	}
	change := Diff(last, list)
	return &change, nil
}

func readClasses(name string) (*Classes, error) {
	f, err := atomicfile.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	classes, err := ReadClasses(atomicfile.Bound(atomicfile.Text(f), atomicfile.MaxList))
	if err != nil {
		return nil, fmt.Errorf("--classes %s: %w", name, err)
	}
	return classes, nil
}

// ReadList reads a list of jobs from a file or, "-", standard input.
func ReadList(name string) ([]Job, error) {
	in := os.Stdin
	if name != "-" {
		f, err := atomicfile.Open(name)
		if err != nil {
			return nil, proc.Usage(err)
		}
		defer f.Close()
		in = f
	}
	return readList(name, in)
}

func readList(name string, in io.Reader) ([]Job, error) {
	list, err := Read(atomicfile.Bound(atomicfile.Text(in), atomicfile.MaxList))
	if err != nil {
		return nil, proc.Usagef("%s: %w", name, err)
	}
	return list, nil
}

func (o Options) network() (func(context.Context) (*network.Network, error), error) {
	if o.Net != nil {
		return func(context.Context) (*network.Network, error) { return o.Net, nil }, nil
	}
	return reading("discover", o.Discover, o.Wait, func(text []byte) (*network.Network, error) { return netfile.ReadIB(bytes.NewReader(text)) })
}

func (o Options) list() (func(context.Context) ([]Job, error), error) {
	if o.Queue != "" {
		return reading("queue", o.Queue, o.Wait, func(text []byte) ([]Job, error) { return readList(o.Queue, bytes.NewReader(text)) })
	}
	if _, err := os.Stat(o.List); err != nil && o.List != "-" {
		return nil, err
	}
	return func(context.Context) ([]Job, error) { return ReadList(o.List) }, nil
}

// reading returns a function that runs the command of a flag, at most for wait, and reads its
// output.
func reading[T any](flag, command string, wait time.Duration, read func([]byte) (T, error)) (func(context.Context) (T, error), error) {
	words := strings.Fields(command)
	if len(words) == 0 {
		return nil, fmt.Errorf("--%s: names no command", flag)
	}
	if wait <= 0 {
		return nil, fmt.Errorf("--wait %s: must be more than 0", wait)
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	run := opensm.CommandLine(command)
	return func(ctx context.Context) (none T, err error) {
		ctx, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("not within %s", wait))
		defer cancel()
		text, err := run(ctx, atomicfile.MaxList)
		if err != nil && ctx.Err() != nil {
			err = fmt.Errorf("%s: %w", words[0], context.Cause(ctx))
		}
		if err != nil {
			return none, err
		}
		return read(text)
	}, nil
}

// A target is the place for the tables of jobs.
type target struct {
	o       Options
	unheard bool // the file is written, and OpenSM was not told
}

// put draws, writes and installs, according to the options.
func (to *target) put(ctx context.Context, r *Routed, t *lft.Tables) error {
	out, load := to.o.Out, to.o.Load != nil
	if lost := r.Lost(); lost > 0 && (out != "" || load) {
		if load {
			out = to.o.Load.Dir
		}
		return fmt.Errorf("%d routes within jobs do not arrive: %s is not written", lost, out)
	}
	if t.Lanes() > 1 && (load || out != "" && !to.o.JSON) {
		return proc.Usagef("--lanes: the routes need %d virtual lanes, and OpenSM's engine file gives them one; -o FILE --format json writes them", t.Lanes())
	}
	switch {
	case load:
		return to.load(ctx, r, t)
	case out != "":
		return to.write(r, t)
	}
	return nil
}

// load makes OpenSM load the tables, and reads them back.
func (to *target) load(ctx context.Context, r *Routed, t *lft.Tables) error {
	routes, err := opensm.OfTables(t)
	if err != nil {
		return err
	}
	_, err = to.o.Load.Install(ctx, routes)
	if _, tried := errors.AsType[*companion.InstallError](err); err != nil && !tried {
		return proc.Usage(err) // nothing was done
	}
	r.Installed = err == nil
	return err
}

// write writes tables if the file differs, and signals OpenSM.
func (to *target) write(r *Routed, t *lft.Tables) error {
	name, form := to.o.Out, t.WriteDump
	if to.o.JSON {
		form = t.WriteJSON
	}
	var text bytes.Buffer
	if err := form(&text); err != nil {
		return err
	}
	r.Asked = true
	if old, err := atomicfile.Read(name, int64(text.Len())); err != nil || !bytes.Equal(old, text.Bytes()) {
		if err := atomicfile.Write(name, func(w io.Writer) error { _, err := w.Write(text.Bytes()); return err }); err != nil {
			return err
		}
		r.Written, to.unheard = true, to.o.Process != ""
	}
	if !to.unheard {
		return nil
	}
	if err := reload(to.o.Process); err != nil {
		return fmt.Errorf("%s is written, but OpenSM has not confirmed it: %w", name, err)
	}
	r.Signalled, to.unheard = true, false
	return nil
}

func reload(process string) error {
	sm, err := opensm.Find(process, "")
	if err != nil {
		return err
	}
	return errors.Join(sm.Reload(), sm.Close())
}

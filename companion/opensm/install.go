package opensm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"evbench/internal/atomicfile"
	"evbench/internal/proc"
	"evbench/routing/lft"
)

// InstallOptions say how to reach a running OpenSM.
type InstallOptions struct {
	// Dir is where the files are; OpenSM's lfts_file is evbench.lfts in it.
	Dir string
	// PID is OpenSM's process.
	PID int
	// LogFile is where OpenSM logs to. It is followed, also over a rotation.
	LogFile string
	// ReadBack returns the tables that the switches hold, as dump_lfts prints them.
	ReadBack Reader
	// Wait is how long OpenSM may take to configure tables. 0 means two minutes.
	Wait time.Duration

	// find replaces Running in tests, where OpenSM is the test itself.
	find func(pid int, log string) (*Process, error)
}

const defaultWait = 2 * time.Minute

// A Reader returns what is read of the network, and fails where that is more than most bytes.
type Reader func(ctx context.Context, most int) ([]byte, error)

// Command returns a Reader of what a program prints, such as dump_lfts.
func Command(program string, args ...string) Reader {
	return func(ctx context.Context, most int) ([]byte, error) {
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.WaitDelay = time.Second
		return proc.Output(cmd, most)
	}
}

// An InstallError says that the tables are not in place, and what is.
type InstallError struct {
	cause error
	// restored says that the files are those of before. loaded says that OpenSM
	// has loaded them again; where there were none there is nothing to load.
	restored, loaded bool
	restoring        error // why not
}

func (e *InstallError) Error() string {
	after := "the earlier files are back and OpenSM has loaded them"
	switch {
	case !e.restored:
		after = fmt.Sprintf("THE EARLIER FILES ARE NOT BACK: %v", e.restoring)
	case !e.loaded && e.restoring == nil:
		after = "there was no earlier file of tables, and OpenSM has not been signalled again: the switches hold what it made last"
	case !e.loaded:
		after = fmt.Sprintf("the earlier files are back, but OpenSM HAS NOT LOADED THEM: %v", e.restoring)
	}
	return fmt.Sprintf("%v; %s", e.cause, after)
}

// Unwrap returns the cause.
func (e *InstallError) Unwrap() error { return e.cause }

// Install writes the files, keeps those before as *.old, has OpenSM load them, reads the tables of
// all switches back and compares. If anything but these tables is in place at the end, it brings the
// earlier files back in the same way and returns an *InstallError. Other errors mean that nothing
// was changed. It cannot change LIDs: the routes must have kept those of the network.
func Install(ctx context.Context, r *Routes, o InstallOptions) error {
	return newInstaller(r, o).install(ctx)
}

type installer struct {
	o InstallOptions
	r *Routes
	// loads is how often OpenSM is signalled before tables that differ are a failure. A
	// sweep that it has begun by itself may have read the earlier file, and then it is
	// the next one that counts.
	loads int
	// held is what the switches hold, nil until it has been read.
	held    *lft.Tables
	changed int // entries, by what was held before
	// step is told what has been done, and how long it took; nil is allowed.
	step func(what string, began time.Time)
}

// buffersLoads is how often OpenSM may be asked where it buffers its log: what it says first may
// be of an earlier loading.
const buffersLoads = 2

func (o InstallOptions) withDefaults() InstallOptions {
	if o.Wait <= 0 {
		o.Wait = defaultWait
	}
	if o.find == nil {
		o.find = Running
	}
	return o
}

func newInstaller(r *Routes, o InstallOptions) *installer {
	return &installer{o: o.withDefaults(), r: r, loads: 1, step: func(string, time.Time) {}}
}

func (i *installer) install(ctx context.Context) error {
	began := time.Now()
	files, err := i.r.files(i.o.Dir)
	if err != nil {
		return err
	}
	var names []string
	for _, f := range files {
		names = append(names, filepath.Join(i.o.Dir, f.Name))
	}
	if err := atomicfile.Check(names...); err != nil {
		return err
	}
	if err := i.ready(ctx); err != nil {
		return err
	}
	if i.held != nil {
		i.changed = len(differences(i.r.Tables, i.held))
	}
	old, err := i.keep(files)
	if err != nil {
		return err
	}
	if err = i.put(files); err == nil {
		i.step("written", began)
		err = i.bring(ctx)
	}
	if err == nil {
		return nil
	}
	i.held = nil
	return i.restore(ctx, old, err)
}

// bring has OpenSM load the files until the switches hold the tables, as often as it may.
func (i *installer) bring(ctx context.Context) error {
	for load := 1; ; load++ {
		began := time.Now()
		if err := i.load(ctx); err != nil {
			return err
		}
		i.step("loaded by OpenSM", began)
		began = time.Now()
		err := i.compare(ctx)
		if err == nil {
			i.step("read back", began)
			return nil
		}
		if _, differ := errors.AsType[*differError](err); !differ || load >= i.loads {
			return err
		}
		i.step("read back, as before: once more", began)
	}
}

type differError struct{ diff []string }

func (e *differError) Error() string {
	return fmt.Sprintf("tables read back differ in %d entries, first %s", len(e.diff), e.diff[0])
}

// ready checks that OpenSM can be reached before anything is changed.
func (i *installer) ready(ctx context.Context) error {
	switch {
	case !i.r.kept:
		return fmt.Errorf("hosts need %d LIDs each, aligned, and have others: OpenSM gives LIDs when it starts, so start it once with the %s and %s that Write makes",
			1<<i.r.lmc, LIDsFile, ConfFile)
	case i.o.PID < 2:
		return fmt.Errorf("OpenSM's process %d: not a process that can be signalled", i.o.PID)
	case i.o.ReadBack == nil:
		return errors.New("no way to read the tables back")
	}
	sm, err := i.o.find(i.o.PID, i.o.LogFile)
	if err != nil {
		return fmt.Errorf("OpenSM, %w", err)
	}
	if err := sm.Close(); err != nil {
		return err
	}
	if _, err := os.Stat(i.o.LogFile); err != nil {
		return fmt.Errorf("OpenSM's log: %w", err)
	}
	if i.held != nil {
		return nil // the last installation has just read them
	}
	text, err := i.read(ctx)
	if err != nil {
		return fmt.Errorf("read the tables as they are: %w", err)
	}
	if held, err := lft.ReadDump(bytes.NewReader(text), i.r.Net); err == nil {
		i.held = held // else they were made for other addresses: nothing to count by
	}
	return nil
}

// keep returns what the files hold now, nil where there is none, and keeps each that is
// about to change as *.old.
func (i *installer) keep(files []file) ([]file, error) {
	var old []file
	for _, f := range files {
		name := filepath.Join(i.o.Dir, f.Name)
		text, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err == nil && !bytes.Equal(text, f.Text) {
			if err := another(name, name+".old"); err != nil {
				return nil, err
			}
		}
		old = append(old, file{f.Name, text})
	}
	return old, nil
}

// another gives a file that is about to be replaced a second name, which costs no
// writing.
func another(name, second string) error {
	if err := os.Remove(second); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Link(name, second)
}

// put writes files, and removes those without a text.
func (i *installer) put(files []file) error {
	for _, f := range files {
		if f.Text != nil {
			continue
		}
		if err := os.Remove(filepath.Join(i.o.Dir, f.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return write(i.o.Dir, files)
}

func (i *installer) load(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, i.o.Wait, fmt.Errorf("not within %s", i.o.Wait))
	defer cancel()
	log, err := follow(i.o.LogFile)
	if err != nil {
		return err
	}
	defer log.close()
	sm, err := i.o.find(i.o.PID, i.o.LogFile)
	if err != nil {
		return fmt.Errorf("OpenSM, %w", err)
	}
	if sm.advice != "" {
		i.loads = max(i.loads, buffersLoads)
		err = log.pass(ctx, sm.flush)
	}
	if err == nil {
		err = sm.Reload()
	}
	if err == nil {
		err = log.loaded(ctx, sm.flush)
	}
	return errors.Join(err, sm.Close())
}

func (i *installer) read(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, i.o.Wait, fmt.Errorf("not within %s", i.o.Wait))
	defer cancel()
	// What dump_lfts prints of a LID takes half a line, of a switch two.
	const line = 256
	n := i.r.Tables.Net
	return i.o.ReadBack(ctx, line*(i.r.Tables.LIDs+16)*max(n.Switches(), 1))
}

func (i *installer) compare(ctx context.Context) error {
	text, err := i.read(ctx)
	if err != nil {
		return fmt.Errorf("read tables back: %w", err)
	}
	have, err := lft.ReadDump(bytes.NewReader(text), i.r.Net)
	if err != nil {
		return fmt.Errorf("tables read back: %w", err)
	}
	if diff := differences(i.r.Tables, have); len(diff) > 0 {
		return &differError{diff}
	}
	i.held = have
	return nil
}

func (i *installer) restore(ctx context.Context, old []file, cause error) error {
	e := &InstallError{cause: cause}
	if e.restoring = i.put(old); e.restoring != nil {
		return e
	}
	e.restored = true
	if old[0].Text == nil {
		return e
	}
	e.restoring = i.load(context.WithoutCancel(ctx))
	e.loaded = e.restoring == nil
	return e
}

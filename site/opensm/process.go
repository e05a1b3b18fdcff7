package opensm

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"evbench/internal/trust"
)

const program = "opensm"

// Auto names the OpenSM that runs on this machine, with any process number, even after a restart.
const Auto = "auto"

// A Process is a running OpenSM. Close it.
type Process struct {
	p   *trust.Process
	set settings
}

// Running returns the OpenSM with a process number. It refuses every other program: SIGHUP, at
// which OpenSM reads its files, ends most programs.
func Running(pid int) (*Process, error) {
	p, err := trust.Find(pid)
	if err != nil {
		return nil, err
	}
	if err := isOpenSM(p); err != nil {
		return nil, errors.Join(fmt.Errorf("process %d %w", pid, err), p.Release())
	}
	return &Process{p, readSettings(p)}, nil
}

// Find returns the OpenSM with a number or, with Auto, the one running here: of several, the one
// that reads the tables of a directory.
func Find(which, dir string) (*Process, error) { return find(which, dir, 0) }

// find is Find; of several readers it takes the one with a port, such as the master's.
func find(which, dir string, guid uint64) (*Process, error) {
	if which != Auto {
		pid, err := strconv.Atoi(which)
		if err != nil || pid < 2 {
			return nil, fmt.Errorf("OpenSM's process %q: neither %s nor a process that can be signalled", which, Auto)
		}
		p, err := Running(pid)
		if errors.Is(err, os.ErrProcessDone) {
			err = fmt.Errorf("%w; %s finds the one that runs here, also when it is started anew", err, Auto)
		}
		return p, err
	}
	var found []*Process
	names, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, name := range names {
		if text, _ := os.ReadFile(name); strings.TrimSpace(string(text)) != program {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		switch p, err := Running(pid); {
		case err != nil:
		case p.set.runs:
			found = append(found, p)
		default: // which tables it reads is not known: it would be taken for one that reads these
			p.Close()
		}
	}
	return only(found, dir, guid)
}

// only returns the OpenSM that reads the tables of a directory, or the only one, and closes the
// others. Its port selects among several readers.
func only(found []*Process, dir string, guid uint64) (*Process, error) {
	reading := slices.DeleteFunc(slices.Clone(found), func(p *Process) bool { return p.reads(dir) != nil })
	if len(reading) == 0 {
		reading = found
	}
	at := slices.DeleteFunc(slices.Clone(reading), func(p *Process) bool { return p.set.guid != guid })
	if guid != 0 && len(at) == 1 {
		reading = at
	}
	var numbers []string
	for _, p := range found {
		numbers = append(numbers, strconv.Itoa(p.p.ID.PID))
		if len(reading) != 1 || p != reading[0] {
			p.Close()
		}
	}
	switch len(reading) {
	case 0:
		return nil, errors.New("this user sees no OpenSM on this machine")
	case 1:
		return reading[0], nil
	}
	return nil, fmt.Errorf("%w, processes %s, and not exactly one of them reads %s: choose one, or start each with --guid", severalError(len(found)), strings.Join(numbers, ", "), filepath.Join(dir, LFTsFile))
}

// A severalError is the number of candidate OpenSM processes; only asking for the master can select
// one.
type severalError int

func (n severalError) Error() string { return fmt.Sprintf("%d OpenSM run here", int(n)) }

// Check reports why the OpenSM with a number, or Auto, cannot be notified of tables, or does not
// read those of a directory; "": any directory.
func Check(which, dir string) error {
	p, err := Find(which, dir)
	if _, several := errors.AsType[severalError](err); several {
		return nil // installing asks for the master
	}
	if err != nil {
		return err
	}
	if dir != "" {
		err = p.reads(dir)
	}
	return errors.Join(err, p.Close())
}

// reads reports why OpenSM does not load the tables of a directory, according to its command line
// and configuration.
func (p *Process) reads(dir string) error {
	want := filepath.Join(dir, LFTsFile)
	cure := fmt.Sprintf("start it with the lines of %s, routing_engine file,no_fallback and lfts_file %s", ConfFile, want)
	first, _, _ := strings.Cut(p.set.engine, ",")
	switch {
	case !p.set.known:
		return nil
	case strings.TrimSpace(first) != "file":
		return fmt.Errorf("OpenSM, process %d, routes by %s and reads no tables: %s", p.p.ID.PID, cmp.Or(p.set.engine, "minhop"), cure)
	case p.set.lfts == "" || !sameFile(p.p.Sees(p.set.lfts), want):
		return fmt.Errorf("OpenSM, process %d, reads its tables from %s, not from %s: %s", p.p.ID.PID, cmp.Or(p.set.lfts, "no file"), want, cure)
	}
	return nil
}

// sameFile reports whether two names are of one file, which may be missing.
func sameFile(a, b string) bool {
	x, errX := os.Stat(filepath.Dir(a))
	y, errY := os.Stat(filepath.Dir(b))
	return filepath.Base(a) == filepath.Base(b) && errX == nil && errY == nil && os.SameFile(x, y)
}

// log returns OpenSM's log: the name given by the user, or the configured one.
func (p *Process) log(said string) string {
	name := cmp.Or(said, p.set.log, defaultLog)
	if !filepath.IsAbs(name) && said == "" {
		return p.p.Sees(name)
	}
	return name
}

// reopening is how often OpenSM's log is looked for, every poll, between its closing and reopening: a second of looks,
// however long this process itself does not run.
const reopening = int(time.Second / poll)

// logging determines how OpenSM writes a log: whether at SIGUSR1 it writes its buffer and erases
// nothing, and how to make it write each line at once, "" if it does. An error says why the log
// cannot be followed.
func (p *Process) logging(log string) (reopens bool, advice string, err error) {
	to, err := logsTo(p.p, log)
	for looks := 0; err != nil && looks < reopening; looks++ {
		time.Sleep(poll)
		to, err = logsTo(p.p, log)
	}
	if err != nil {
		return false, "", fmt.Errorf("process %d %w", p.p.ID.PID, err)
	}
	s := p.set
	if s.level&infoLevel == 0 {
		return false, "", fmt.Errorf("process %d is OpenSM and logs at level %#x, which does not report its actions: %s", p.p.ID.PID, s.level, s.change(p.p, "log_flags 0x03", "without -D"))
	}
	if to == nil || to.Number <= 2 {
		return false, "", nil // its standard output has whole lines
	}
	reopens = to.Append && p.p.Catches(syscall.SIGUSR1)
	if s.flush {
		return reopens, "", nil
	}
	advice = s.change(p.p, "force_log_flush TRUE", "with -d 2")
	if !reopens {
		return false, advice, fmt.Errorf("process %d is OpenSM, buffers its log, and erases the log on a request to flush it: %s", p.p.ID.PID, advice)
	}
	return reopens, advice, nil
}

// flush makes OpenSM write the buffer of its log, if it reopens it. It fails if OpenSM has ended.
func (p *Process) flush(reopens bool) error {
	s := syscall.Signal(0)
	if reopens {
		s = syscall.SIGUSR1
	}
	if err := p.p.Signal(s); err != nil {
		return fmt.Errorf("OpenSM, process %d: %w", p.p.ID.PID, err)
	}
	return nil
}

// Reload makes OpenSM read its files and route again.
func (p *Process) Reload() error {
	if err := p.p.Signal(syscall.SIGHUP); err != nil {
		return fmt.Errorf("signal OpenSM, process %d: %w", p.p.ID.PID, err)
	}
	return nil
}

func (p *Process) Close() error { return p.p.Release() }

// isOpenSM returns an error that names any other program.
func isOpenSM(p *trust.Process) error {
	runs := p.Program()
	switch {
	case runs == "":
		runs = p.Name // as far as other users may know
	case runs != program && p.Name == program:
		return fmt.Errorf("is %s, a wrapper named %s: take the process that pidof %s prints", p.Path, program, program)
	}
	if runs != program {
		return fmt.Errorf("is %s, not OpenSM; if it only starts OpenSM, take the process that pidof %s prints", runs, program)
	}
	if errors.Is(p.Signal(syscall.Signal(0)), syscall.EPERM) {
		return fmt.Errorf("is OpenSM of user %d: only that user and root may signal it", p.User)
	}
	return nil
}

// logsTo returns the file through which a process has a log open, or reports its actual log. If it
// writes into a pipe or a socket, the reader of that may write the log: nil.
func logsTo(p *trust.Process, log string) (*trust.OpenFile, error) {
	want, err := os.Stat(log)
	if err != nil {
		return nil, fmt.Errorf("logs elsewhere: %w", err)
	}
	open, ok := p.Files()
	if !ok {
		return nil, nil
	}
	var to *trust.OpenFile // a daemon has its log as standard output, too
	var other string
	passedOn := false
	for _, f := range open {
		name := filepath.Base(strings.TrimSuffix(f.Path, " (deleted)"))
		switch {
		case os.SameFile(f.Info, want), strings.HasPrefix(name, filepath.Base(log)): // the latter after a rotation
			if to == nil || f.Number > to.Number {
				to = &f
			}
		case f.Info.Mode().IsRegular() && strings.Contains(name, ".log"):
			other = f.Path
		case f.Number <= 2 && f.Info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0 && f.Number > 0:
			passedOn = true
		}
	}
	switch {
	case to != nil:
	case other != "":
		return nil, fmt.Errorf("is OpenSM and logs to %s, not to %s", other, log)
	case !passedOn:
		return nil, fmt.Errorf("is OpenSM, but does not have the log %s open", log)
	}
	return to, nil
}

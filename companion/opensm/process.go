package opensm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"evbench/internal/trust"
)

const program = "opensm"

// A Process is an OpenSM that runs. Close it.
type Process struct {
	p *trust.Process
	// reopens says that it writes what it has buffered of its log at SIGUSR1, and erases nothing.
	reopens bool
	// advice says how to have it write each line of its log at once; "": it does.
	advice string
}

// Running returns the OpenSM of a process number. It refuses every other program: SIGHUP,
// at which OpenSM reads its files, ends most. With a log it also refuses an OpenSM of
// which can be told that it writes another one, or that nobody can follow.
func Running(pid int, log string) (*Process, error) {
	p, err := trust.Find(pid)
	if err != nil {
		return nil, err
	}
	sm := &Process{p: p}
	if err = isOpenSM(p); err == nil && log != "" {
		err = sm.logging(log)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("process %d %w", pid, err), p.Release())
	}
	return sm, nil
}

// reopening is how long OpenSM may take between closing its log and opening it again.
const reopening = time.Second

// logging finds out how it writes its log.
func (p *Process) logging(log string) error {
	to, err := logsTo(p.p, log)
	for end := time.Now().Add(reopening); err != nil && time.Now().Before(end); time.Sleep(poll) {
		to, err = logsTo(p.p, log)
	}
	if err != nil {
		return err
	}
	s := readSettings(p.p)
	if s.level&infoLevel == 0 {
		return fmt.Errorf("is OpenSM and logs at level %#x, which does not say when tables are configured: %s", s.level, s.change(p.p, "log_flags 0x03", "without -D"))
	}
	if to == nil || to.Number <= 2 {
		return nil // its standard output has whole lines
	}
	p.reopens = to.Append && p.p.Catches(syscall.SIGUSR1)
	if s.flush {
		return nil
	}
	p.advice = s.change(p.p, "force_log_flush TRUE", "with -d 2")
	if !p.reopens {
		return fmt.Errorf("is OpenSM, buffers its log, and erases it when it is to write it: %s", p.advice)
	}
	return nil
}

// flush has OpenSM write what it has buffered of its log, where that can be done. It fails
// where OpenSM has ended.
func (p *Process) flush() error {
	s := syscall.Signal(0)
	if p.reopens {
		s = syscall.SIGUSR1
	}
	if err := p.p.Signal(s); err != nil {
		return fmt.Errorf("OpenSM, process %d: %w", p.p.ID.PID, err)
	}
	return nil
}

// Reload has OpenSM read its files and route anew.
func (p *Process) Reload() error {
	if err := p.p.Signal(syscall.SIGHUP); err != nil {
		return fmt.Errorf("signal OpenSM, process %d: %w", p.p.ID.PID, err)
	}
	return nil
}

// Close lets go of the process.
func (p *Process) Close() error { return p.p.Release() }

// isOpenSM reports what a process is instead.
func isOpenSM(p *trust.Process) error {
	runs := p.Program()
	switch {
	case runs == "":
		runs = p.Name // as far as anybody else may know
	case runs != program && p.Name == program:
		return fmt.Errorf("is %s, a wrapper named %s: take OpenSM's own process, as pidof %s prints it", p.Path, program, program)
	}
	if runs != program {
		return fmt.Errorf("is %s, not OpenSM; of what only starts it, take OpenSM's own process, as pidof %s prints it", runs, program)
	}
	if errors.Is(p.Signal(syscall.Signal(0)), syscall.EPERM) {
		return fmt.Errorf("is OpenSM of user %d: only that user and root may signal it", p.User)
	}
	return nil
}

// logsTo returns the file as which a process has a log open, or reports which other log it
// has. Where it writes into a pipe or a socket, whoever reads that may write the log: nil.
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
		return nil, fmt.Errorf("is OpenSM and does not log to %s, which it has not open", log)
	}
	return to, nil
}

package opensm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"evbench/internal/trust"
)

// program is OpenSM's.
const program = "opensm"

// A Process is an OpenSM that runs. Close it.
type Process struct{ p *trust.Process }

// Running returns the OpenSM of a process number. It refuses every other program: SIGHUP,
// at which OpenSM reads its files, ends most. With a log it also refuses an OpenSM of
// which can be told that it writes another one.
func Running(pid int, log string) (*Process, error) {
	p, err := trust.Find(pid)
	if err != nil {
		return nil, err
	}
	if err = isOpenSM(p); err == nil && log != "" {
		err = logsTo(p, log)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("process %d %w", pid, err), p.Release())
	}
	return &Process{p}, nil
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

// logsTo reports which log a process has open instead. Where it writes into a pipe or a
// socket, whoever reads that may write the log.
func logsTo(p *trust.Process, log string) error {
	want, err := os.Stat(log)
	if err != nil {
		return fmt.Errorf("logs elsewhere: %w", err)
	}
	open, ok := p.Files()
	if !ok {
		return nil
	}
	var other string
	passedOn := false
	for _, f := range open {
		name := filepath.Base(strings.TrimSuffix(f.Path, " (deleted)"))
		switch {
		case os.SameFile(f.Info, want), strings.HasPrefix(name, filepath.Base(log)): // the latter after a rotation
			return nil
		case f.Info.Mode().IsRegular() && strings.Contains(name, ".log"):
			other = f.Path
		case f.Number <= 2 && f.Info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0 && f.Number > 0:
			passedOn = true
		}
	}
	switch {
	case other != "":
		return fmt.Errorf("is OpenSM and logs to %s, not to %s", other, log)
	case !passedOn:
		return fmt.Errorf("is OpenSM and does not log to %s, which it has not open", log)
	}
	return nil
}

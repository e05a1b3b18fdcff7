package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/prometheus/procfs"
)

// An ID distinguishes a process from every other one, even a later one with the same number.
type ID struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`          // ticks of the kernel's clock since the boot
	Exe   string `json:"exe"`            // device and number of its executable: the name may change
	Boot  string `json:"boot,omitempty"` // of the machine that it runs on; "" in older files
}

// Check reports missing parts of an ID read from elsewhere.
func (i ID) Check() error {
	switch {
	case i.PID < 1:
		return fmt.Errorf("pid %d is not a process", i.PID)
	case i.Start == 0 || i.Exe == "":
		return errors.New("start and exe are missing: when the process has started, and what it runs")
	}
	return nil
}

func Self() (ID, error) {
	p, err := Find(os.Getpid())
	if err != nil {
		return ID{}, err
	}
	return p.ID, p.Release()
}

// A Process is a running one. If the kernel supports it, a pidfd holds it: after its end no other
// process gets its signals.
type Process struct {
	*os.Process
	ID
	Name string // the kernel's name for it: for a script, the script's
	Path string // of its executable; "" if unknown
	User int    // the user whose rights it has
}

// Find returns the process with a number. The error wraps os.ErrProcessDone if there is none.
func Find(pid int) (*Process, error) {
	if pid < 1 {
		return nil, fmt.Errorf("process %d: %w", pid, os.ErrProcessDone)
	}
	handle, err := os.FindProcess(pid)
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	p := &Process{Process: handle, ID: ID{PID: pid, Boot: Boot()}}
	err = p.read()
	// It still runs: all data read are its own.
	if there := handle.Signal(syscall.Signal(0)); there != nil && !errors.Is(there, syscall.EPERM) {
		err = there
	}
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, errors.Join(err, handle.Release()))
	}
	return p, nil
}

// read gets the kernel's data about the process.
func (p *Process) read() error {
	proc, err := procfs.NewProc(p.ID.PID)
	if err != nil {
		return gone(err)
	}
	stat, err := proc.Stat()
	if err != nil {
		return gone(err)
	}
	if stat.State == "Z" || stat.State == "X" {
		return os.ErrProcessDone // ended, and its parent has not waited for it
	}
	status, err := proc.NewStatus()
	if err != nil {
		return gone(err)
	}
	p.Name, p.Start, p.User = stat.Comm, stat.Starttime, int(status.UIDs[1])
	exe := fmt.Sprintf("/proc/%d/exe", p.ID.PID)
	if path, err := os.Readlink(exe); err == nil {
		p.Path = strings.TrimSuffix(path, " (deleted)")
	}
	if info, err := os.Stat(exe); err == nil {
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			p.Exe = fmt.Sprintf("%d:%d", s.Dev, s.Ino)
		}
	}
	return nil
}

func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// Find returns the process with this ID. The error wraps os.ErrProcessDone if it has ended, even if
// another one has its number. Of a process on another machine nothing is known.
func (i ID) Find() (*Process, error) {
	if boot := Boot(); i.Boot != "" && i.Boot != boot {
		return nil, fmt.Errorf("process %d is of another machine, or of this one before its last boot", i.PID)
	}
	p, err := Find(i.PID)
	if err != nil {
		return nil, err
	}
	i.Boot = p.Boot
	if p.ID != i || p.User != os.Geteuid() {
		return nil, fmt.Errorf("process %d: %w", i.PID, errors.Join(os.ErrProcessDone, p.Release()))
	}
	return p, nil
}

// Program returns the last element of the path of its executable, "" if unknown.
func (p *Process) Program() string {
	if p.Path == "" {
		return ""
	}
	return filepath.Base(p.Path)
}

type OpenFile struct {
	Number int
	Path   string // as the process sees it
	Info   fs.FileInfo
	Append bool // writes append
}

// Files returns the open files of the process; false if they are unknown.
func (p *Process) Files() ([]OpenFile, bool) {
	dir := fmt.Sprintf("/proc/%d/fd", p.ID.PID)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, false
	}
	var open []OpenFile
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, e.Name()))
		if err != nil {
			continue // closed by now
		}
		path, _ := os.Readlink(filepath.Join(dir, e.Name()))
		flags, err := strconv.ParseUint(p.field(fmt.Sprintf("fdinfo/%d", n), "flags:"), 8, 64)
		if err != nil {
			continue // the same
		}
		open = append(open, OpenFile{n, path, info, flags&syscall.O_APPEND != 0})
	}
	return open, true
}

// Catches reports whether the process has a handler for a signal, as far as known.
func (p *Process) Catches(s syscall.Signal) bool {
	mask, err := strconv.ParseUint(p.field("status", "SigCgt:"), 16, 64)
	return err == nil && mask>>(s-1)&1 == 1
}

// field returns the value of a line in one of the kernel's files about the process.
func (p *Process) field(file, name string) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.ID.PID, file))
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Args returns its command line, nil if unknown.
func (p *Process) Args() []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.ID.PID))
	if err != nil || len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

// Sees returns the name by which this process finds a file that the other one calls name.
func (p *Process) Sees(name string) string {
	if filepath.IsAbs(name) {
		return fmt.Sprintf("/proc/%d/root%s", p.ID.PID, name)
	}
	return fmt.Sprintf("/proc/%d/cwd/%s", p.ID.PID, name)
}

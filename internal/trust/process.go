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

// An ID tells a process from every other one, also from a later one that has the same
// number.
type ID struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // ticks of the kernel's clock since the machine has started
	Exe   string `json:"exe"`   // device and number of the file that it runs: the name may change
}

// Check reports what an ID lacks that was read from somewhere.
func (i ID) Check() error {
	switch {
	case i.PID < 1:
		return fmt.Errorf("pid %d is no process", i.PID)
	case i.Start == 0 || i.Exe == "":
		return errors.New("start and exe are missing: when the process has started, and what it runs")
	}
	return nil
}

// Self returns the ID of this process.
func Self() (ID, error) {
	p, err := Find(os.Getpid())
	if err != nil {
		return ID{}, err
	}
	return p.ID, p.Release()
}

// A Process is one that runs. It is held by more than its number, where the kernel can
// (pidfd): after it has ended no other one is signalled in its place.
type Process struct {
	*os.Process
	ID
	Name string // that the kernel knows it by: of a script, the script's
	Path string // of the file that it runs; "" where that is not to be known
	User int    // whose rights it has
}

// Find returns the process of a number. The error wraps os.ErrProcessDone where there
// is none.
func Find(pid int) (*Process, error) {
	if pid < 1 {
		return nil, fmt.Errorf("process %d: %w", pid, os.ErrProcessDone)
	}
	handle, err := os.FindProcess(pid)
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	p := &Process{Process: handle, ID: ID{PID: pid}}
	err = p.read()
	// It is there still: all that was read is its own.
	if there := handle.Signal(syscall.Signal(0)); there != nil && !errors.Is(there, syscall.EPERM) {
		err = there
	}
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, errors.Join(err, handle.Release()))
	}
	return p, nil
}

// read asks the kernel what the process is.
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
		return os.ErrProcessDone // and its parent has not looked
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

// Find returns the process that had this ID when it was asked for. The error wraps
// os.ErrProcessDone where it has ended, also where another one has its number.
func (i ID) Find() (*Process, error) {
	p, err := Find(i.PID)
	if err != nil {
		return nil, err
	}
	if p.ID != i || p.User != os.Geteuid() {
		return nil, fmt.Errorf("process %d: %w", i.PID, errors.Join(os.ErrProcessDone, p.Release()))
	}
	return p, nil
}

// Program returns the last word of the name of the file that it runs, "" where that is
// not to be known.
func (p *Process) Program() string {
	if p.Path == "" {
		return ""
	}
	return filepath.Base(p.Path)
}

// An OpenFile is a file that a process has open.
type OpenFile struct {
	Number int
	Path   string // as the process sees it
	Info   fs.FileInfo
	Append bool // what is written goes to its end
}

// Files returns what the process has open; false where that is not to be known.
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
		open = append(open, OpenFile{n, path, info, p.appends(n)})
	}
	return open, true
}

func (p *Process) appends(number int) bool {
	flags, err := strconv.ParseUint(p.field(fmt.Sprintf("fdinfo/%d", number), "flags:"), 8, 64)
	return err == nil && flags&syscall.O_APPEND != 0
}

// Catches reports whether a signal runs a function of the process, as far as is known.
func (p *Process) Catches(s syscall.Signal) bool {
	mask, err := strconv.ParseUint(p.field("status", "SigCgt:"), 16, 64)
	return err == nil && mask>>(s-1)&1 == 1
}

// field returns the value of a line of one of the kernel's files about the process.
func (p *Process) field(file, name string) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.ID.PID, file))
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Args returns its command line, nil where that is not to be known.
func (p *Process) Args() []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.ID.PID))
	if err != nil || len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

// Sees returns the name by which a file that the process calls so is found from here.
func (p *Process) Sees(name string) string {
	if filepath.IsAbs(name) {
		return fmt.Sprintf("/proc/%d/root%s", p.ID.PID, name)
	}
	return fmt.Sprintf("/proc/%d/cwd/%s", p.ID.PID, name)
}

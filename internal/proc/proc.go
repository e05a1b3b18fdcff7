// Package proc answers: how does a command end, and the programs that it starts? It has wrong use, signals that cancel a
// context, and the groups and output of started programs.
package proc

import (
	"fmt"
	"syscall"
)

// A UsageError is wrong use or input, or something missing, found before any action.
type UsageError struct{ cause error }

func (e *UsageError) Error() string { return e.cause.Error() }

func (e *UsageError) Unwrap() error { return e.cause }

// Usage marks an error as wrong use; nil stays nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return &UsageError{err}
}

func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

// Group returns the attributes of a program in a process group of its own: a Ctrl-C at the terminal
// is for this program alone. It gets the signal atEnd when the thread that started it ends, at the
// latest with this program; 0 means none.
func Group(atEnd syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: atEnd}
}

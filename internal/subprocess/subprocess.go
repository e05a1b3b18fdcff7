// Package subprocess answers: which signals do the programs hear that this one starts, and how much
// is kept of what they print?
package subprocess

import "syscall"

// Group returns the attributes of a program in a process group of its own: a Ctrl-C at the
// terminal is for this program alone. It gets the signal atEnd when the thread that
// has started it ends, and so at the latest with this program; 0 is none.
func Group(atEnd syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: atEnd}
}

//go:build !linux

package subprocess

import "syscall"

func endWith(*syscall.SysProcAttr, syscall.Signal) {} // there is no such thing

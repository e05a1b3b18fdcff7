package subprocess

import "syscall"

func endWith(a *syscall.SysProcAttr, atEnd syscall.Signal) { a.Pdeathsig = atEnd }

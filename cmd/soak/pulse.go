package main

import (
	"errors"
	"syscall"
	"time"
	"unsafe"
)

const (
	beat = 20 * time.Millisecond
	// halting is from when on a pulse says that the machine has halted.
	halting = 60 * time.Millisecond
)

// pulse notes, while the program measures, when the machine itself was slow: a process
// that only wants to run for a moment did not, or the kernel did not change links. All
// network namespaces of a machine share one lock for that, and others take it, too.
func (g *stage) pulse() {
	since, ok := g.main.measures()
	if !ok {
		return
	}
	link, err := openLink()
	if err == nil {
		defer link.close()
	}
	for next := time.Now(); g.main.until(next); next = time.Now().Add(beat) {
		if err == nil {
			err = link.touch() // who is not allowed to has the clock alone
		}
		if late := time.Since(next); late > halting {
			g.seen.Halts = append(g.seen.Halts, Stop{At: next.Sub(since), For: late})
		}
	}
}

// A link asks the kernel to change a network interface.
type link struct{ fd int }

func openLink() (link, error) {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, syscall.NETLINK_ROUTE)
	return link{fd}, err
}

func (l link) close() { syscall.Close(l.fd) }

// touch has the kernel set nothing about the loopback interface and returns when it has:
// it takes the lock for that all the same.
func (l link) touch() error {
	const size = syscall.SizeofNlMsghdr + syscall.SizeofIfInfomsg
	request := struct {
		head syscall.NlMsghdr
		info syscall.IfInfomsg
	}{
		syscall.NlMsghdr{Len: size, Type: syscall.RTM_SETLINK, Flags: syscall.NLM_F_REQUEST | syscall.NLM_F_ACK},
		syscall.IfInfomsg{Family: syscall.AF_UNSPEC, Index: 1},
	}
	if err := syscall.Sendto(l.fd, (*[size]byte)(unsafe.Pointer(&request))[:], 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return err
	}
	var answer [4096]byte
	n, _, err := syscall.Recvfrom(l.fd, answer[:], 0)
	if err != nil {
		return err
	}
	all, err := syscall.ParseNetlinkMessage(answer[:n])
	if err != nil || len(all) == 0 || len(all[0].Data) < 4 {
		return errors.Join(err, errors.New("rtnetlink: no answer"))
	}
	if code := *(*int32)(unsafe.Pointer(&all[0].Data[0])); code != 0 {
		return syscall.Errno(-code)
	}
	return nil
}

//go:build mpi

package mpi

/*
#cgo pkg-config: ompi
#cgo CFLAGS: -O2 -Wall
#include <stdlib.h>
#include "engine.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	empi "github.com/emer/empi/mpi"
)

// Missing says why this binary has no MPI; nil: it has.
var Missing error

var errLeft = errors.New("this process has left the world of MPI")

// A World is this process' place among all ranks that were started together.
type World struct {
	c      *C.evb_world
	rank   int
	size   int
	wanted *int32        // of c: who wants the token counts here
	token  chan struct{} // whoever holds it may call MPI; handed on in the order of asking
	calls  atomic.Uint64 // of endpoints

	// Used by the holder of the token.
	live    map[*Endpoint]bool
	corpses []*corpse
	joins   []*join
	comms   map[string]*comm
	left    bool

	control control

	stop   chan struct{} // ends the pump,
	pumped chan struct{} // … which has ended
	home   chan struct{} // lets the thread that began MPI end it,
	ended  chan struct{} // … which it has
}

var started atomic.Bool

// settings are what Open MPI is to do differently here, unless the user says so:
// to let threads call it, one at a time (MPI_THREAD_SERIALIZED), and to give the
// core away when it has nothing to do, for there may be more ranks than cores. Over TCP a message
// above the eager limit would be announced first, and the answer waits behind what its host sends.
var settings = map[string]string{"OMPI_MPI_THREAD_LEVEL": "2", "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl_tcp_eager_limit": "4194304"}

// Start joins the world; once in a process. It returns when all ranks have
// called it.
func Start() (*World, error) {
	if started.Swap(true) {
		return nil, errors.New("mpi: started a second time in this process")
	}
	w := &World{
		token: make(chan struct{}, 1), comms: map[string]*comm{}, live: map[*Endpoint]bool{},
		stop: make(chan struct{}), pumped: make(chan struct{}), home: make(chan struct{}), ended: make(chan struct{}),
	}
	w.control.init(w)
	begun := make(chan error)
	go w.begin(begun)
	if err := <-begun; err != nil {
		return nil, fmt.Errorf("mpi: %w", err)
	}
	w.token <- struct{}{}
	go w.pump()
	return w, nil
}

// begin is the thread that begins MPI and, much later, ends it: MPI wants both
// done by one.
func (w *World) begin(begun chan<- error) {
	runtime.LockOSThread()
	defer close(w.ended)
	for name, value := range settings {
		if os.Getenv(name) == "" {
			_ = os.Setenv(name, value)
		}
	}
	empi.LogErrors = false
	empi.Init()
	err := w.open()
	begun <- err
	if err != nil {
		return
	}
	<-w.home
	empi.Finalize()
}

func (w *World) open() error {
	if C.evb_thread_level() < C.MPI_THREAD_SERIALIZED {
		return fmt.Errorf("%s does not let several threads of a process call it, not even one at a time", w.Library())
	}
	if err := sameRelease(); err != nil {
		return err
	}
	w.rank, w.size = empi.WorldRank(), empi.WorldSize()
	var rc C.int
	if w.c = C.evb_world_open(&rc); w.c == nil {
		return &callError{Code: int(rc), Text: text(rc)}
	}
	w.wanted = (*int32)(unsafe.Pointer(&w.c.wanted))
	return nil
}

// release is that of the messages between ranks.
const release = 1

// sameRelease makes sure that all ranks understand each other: a binary may be
// an old copy on some host.
func sameRelease() error {
	all, err := empi.NewComm(nil)
	if err != nil {
		return err
	}
	mine, most := []int{release, -release}, []int{0, 0}
	if err := all.AllReduceInt(empi.OpMax, most, mine); err != nil {
		return err
	}
	if most[0] != -most[1] {
		return errors.New("the ranks run different releases of this program")
	}
	return nil
}

// Rank returns the rank of this process.
func (w *World) Rank() int { return w.rank }

// Size returns the number of ranks.
func (w *World) Size() int { return w.size }

// Library names the MPI library and its version.
func (w *World) Library() string {
	var buf [C.MPI_MAX_LIBRARY_VERSION_STRING]C.char
	var n C.int
	if C.MPI_Get_library_version(&buf[0], &n) != C.MPI_SUCCESS {
		return ""
	}
	name, _, _ := strings.Cut(C.GoStringN(&buf[0], n), ",")
	return strings.TrimSpace(name)
}

// lock lets the caller call MPI. Loops in C return when they see that somebody
// wants to, and stand behind him.
func (w *World) lock() {
	if w.tryLock() {
		return
	}
	atomic.AddInt32(w.wanted, 1)
	<-w.token
	atomic.AddInt32(w.wanted, -1)
}

func (w *World) tryLock() bool {
	select {
	case <-w.token:
		return true
	default:
		return false
	}
}

func (w *World) unlock() { w.token <- struct{}{} }

// How often the pump works. While an endpoint works, that sees to control
// messages, too, and a thread that wakes is in its way.
const (
	pumpIdle = time.Millisecond
	pumpBusy = 25 * time.Millisecond
)

// pump lets MPI work while no endpoint does, so that messages under way go on,
// and those of control connections arrive.
func (w *World) pump() {
	defer close(w.pumped)
	timer := time.NewTimer(pumpIdle)
	defer timer.Stop()
	for last := uint64(0); ; {
		select {
		case <-w.stop:
			return
		case <-timer.C:
		}
		every := pumpBusy
		if w.tryLock() {
			w.serve()
			w.unlock()
			if calls := w.calls.Load(); calls == last {
				every = pumpIdle
			} else {
				last = calls
			}
		}
		timer.Reset(every)
	}
}

// attend serves on behalf of somebody who waits for what that does: the pump only
// does when it finds nobody in C, which is rare where many ranks share a core.
func (w *World) attend() {
	w.lock()
	defer w.unlock()
	w.serve()
}

// serve does what is to be done beside the endpoints. The token is held.
func (w *World) serve() {
	if w.left {
		return
	}
	w.control.serve()
	w.reap()
	w.join()
}

// Abort ends all ranks with an exit code; it does not return.
func (w *World) Abort(code int) {
	atomic.AddInt32(w.wanted, 1)
	select {
	case <-w.token:
	case <-time.After(time.Second): // the holder is stuck; that must not save the job
	}
	C.evb_abort(C.int(code))
	os.Exit(code) // unless MPI thinks otherwise
}

// Close leaves the world. It waits for the other ranks to do so, too. What is
// still open is closed.
func (w *World) Close() error {
	w.control.close()
	for _, e := range w.endpoints() {
		_ = e.Close()
	}
	for gone := C.int(0); gone == 0; {
		w.lock()
		if w.left {
			w.unlock()
			return nil
		}
		rc := C.evb_leave(w.c, &gone)
		w.serve()
		w.left = gone != 0
		w.unlock()
		if rc != C.MPI_SUCCESS {
			return &callError{Code: int(rc), Text: text(rc)}
		}
		if gone == 0 {
			time.Sleep(100 * time.Microsecond)
		}
	}
	close(w.stop)
	<-w.pumped
	w.lock()
	defer w.unlock()
	w.bury()
	C.evb_world_close(w.c)
	close(w.home)
	<-w.ended
	return nil
}

func (w *World) endpoints() []*Endpoint {
	w.lock()
	defer w.unlock()
	return slices.Collect(maps.Keys(w.live))
}

// bury frees what closed endpoints have left, for nobody will touch it now.
func (w *World) bury() {
	for _, j := range w.joins {
		C.evb_join_close(j.c)
	}
	w.joins = nil
}

type callError struct {
	Code int
	Text string
}

func (e *callError) Error() string { return fmt.Sprintf("MPI error %d: %s", e.Code, e.Text) }

func text(code C.int) string {
	var buf [C.MPI_MAX_ERROR_STRING]C.char
	C.evb_text(code, &buf[0], C.int(len(buf)))
	return C.GoString(&buf[0])
}

// A corpse is a closed endpoint to which MPI may still have to do.
type corpse struct {
	c     *C.evb_ep
	slots []*C.evb_slot
	mem   []block
}

// reap frees what MPI is through with.
func (w *World) reap() {
	left := w.corpses[:0]
	for _, c := range w.corpses {
		state := C.evb_reap(c.c)
		if state >= 1 {
			c.free()
		}
		if state < 2 {
			left = append(left, c)
		}
	}
	clear(w.corpses[len(left):])
	w.corpses = left
}

// free frees what Alloc gave. Slots stay until nobody writes to them.
func (c *corpse) free() {
	for _, b := range c.mem {
		C.evb_free(b.p)
	}
	for _, s := range c.slots {
		C.evb_free(unsafe.Pointer(s))
	}
	c.mem, c.slots = nil, nil
}

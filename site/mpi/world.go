//go:build mpi

package mpi

/*
#cgo CFLAGS: -O2 -Wall -Wno-stringop-overflow
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
	"golang.org/x/sys/unix"
)

// Missing says why this binary has no MPI; nil if it has MPI.
var Missing error

// Family is the MPI of this binary, OpenMPI or MPICH; Intel MPI and MVAPICH belong to MPICH.
const Family = C.EVB_FAMILY

var errLeft = errors.New("this process has left the world of MPI")

// A World is this process' place among all ranks that were started together.
type World struct {
	c      *C.evb_world
	rank   int
	size   int
	wanted *int32        // of c: number of goroutines that wait for the token
	token  chan struct{} // the holder may call MPI; passed on in the order of requests
	calls  atomic.Uint64 // of endpoints

	// Used by the holder of the token.
	live    map[*Endpoint]bool
	corpses []*corpse
	joins   []*join
	comms   map[string]*comm
	left    bool

	control control

	stop   chan struct{} // ends the pump
	pumped chan struct{} // closed when the pump has ended
	home   chan struct{} // lets the thread that began MPI end it
	ended  chan struct{} // closed when that thread has ended MPI
}

var started, finalized atomic.Bool

// settings are what MPI is told in the environment unless the user has done so: to let threads call
// it, one at a time, because empi.Init asks for one thread alone; and, for Open MPI, that an idle
// rank yields its core, because ranks may outnumber cores.
var settings = map[string]string{
	"OMPI_MPI_THREAD_LEVEL":          "2", // MPI_THREAD_SERIALIZED
	"MPIR_CVAR_DEFAULT_THREAD_LEVEL": "MPI_THREAD_SERIALIZED",
	"OMPI_MCA_mpi_yield_when_idle":   "1",
}

// Start joins the world, once in a process. It returns when all ranks have called it, or an
// *AbsentError when for a limit, unless 0, no other rank has been heard for the first time.
func Start(limit time.Duration) (*World, error) {
	if started.Swap(true) {
		return nil, errors.New("mpi: started a second time in this process")
	}
	w := &World{
		token: make(chan struct{}, 1), comms: map[string]*comm{}, live: map[*Endpoint]bool{},
		stop: make(chan struct{}), pumped: make(chan struct{}), home: make(chan struct{}), ended: make(chan struct{}),
	}
	w.control.init(w)
	begun := make(chan error)
	go w.begin(begun, limit)
	if err := <-begun; err != nil {
		return nil, fmt.Errorf("mpi: %w", err)
	}
	w.token <- struct{}{}
	go w.pump()
	return w, nil
}

// begin is the thread that begins MPI and, much later, ends it: MPI requires one thread for both.
func (w *World) begin(begun chan<- error, limit time.Duration) {
	runtime.LockOSThread()
	defer close(w.ended)
	for name, value := range settings {
		if os.Getenv(name) == "" {
			_ = os.Setenv(name, value) // fails only for invalid names
		}
	}
	empi.LogErrors = false
	C.evb_keep_handler()
	empi.Init()
	C.evb_restore_handler()
	err := w.open(limit)
	begun <- err
	if err != nil {
		return
	}
	<-w.home
	empi.Finalize()
	finalized.Store(true)
}

func (w *World) open(limit time.Duration) error {
	if C.evb_threads() < C.MPI_THREAD_SERIALIZED {
		return fmt.Errorf("%s does not let several threads of a process call it, not even one at a time", w.Library())
	}
	w.rank, w.size = empi.WorldRank(), empi.WorldSize()
	if err := w.meet(limit); err != nil {
		return err
	}
	if err := sameRelease(); err != nil {
		return err
	}
	var rc C.int
	if w.c = C.evb_world_open(C.int(w.rank), C.int(w.size), &rc); w.c == nil {
		return &callError{Code: int(rc), Text: text(rc)}
	}
	w.wanted = (*int32)(unsafe.Pointer(&w.c.wanted))
	return nil
}

// meet makes sure that messages come from all ranks: what MPI does together waits without end for
// one whose route leads nowhere.
func (w *World) meet(limit time.Duration) error {
	heard, all := make([]C.char, w.size), C.int(0)
	rc := C.evb_meet(C.int(w.rank), C.int(w.size), C.int(limit.Milliseconds()), &heard[0], &all)
	if rc != C.MPI_SUCCESS {
		return &callError{Code: int(rc), Text: text(rc)}
	}
	if all != 0 {
		return nil
	}
	absent := &AbsentError{Limit: limit}
	for rank, h := range heard {
		if h == 0 {
			absent.Ranks = append(absent.Ranks, rank)
		}
	}
	return absent
}

// release is the version of the messages between ranks.
const release = 1

// sameRelease checks that all ranks understand each other: a host may have an old copy of the
// binary.
func sameRelease() error {
	world, err := empi.NewComm(nil)
	if err != nil {
		return err
	}
	most := make([]int, 2)
	if err := world.AllReduceInt(empi.OpMax, most, []int{release, -release}); err != nil {
		return err
	}
	if most[0] != -most[1] {
		return errors.New("the ranks run different releases of this program")
	}
	return nil
}

func (w *World) Rank() int { return w.rank }

func (w *World) Size() int { return w.size }

// Library names the MPI library and its version.
func (w *World) Library() string {
	var buf [C.MPI_MAX_LIBRARY_VERSION_STRING]C.char
	var n C.int
	if C.MPI_Get_library_version(&buf[0], &n) != C.MPI_SUCCESS {
		return ""
	}
	name := C.GoStringN(&buf[0], n) // MPICH adds lines on how it was built
	if end := strings.IndexAny(name, ",\n"); end >= 0 {
		name = name[:end]
	}
	return strings.Join(strings.Fields(name), " ")
}

// lock lets the caller call MPI. Loops in C return when they see a waiter, and queue behind it.
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

// How often the pump works. While an endpoint works, the endpoint also handles control messages,
// and a waking thread would disturb it.
const (
	pumpIdle = time.Millisecond
	pumpBusy = 25 * time.Millisecond
)

// pump lets MPI work while no endpoint does, so that messages under way and control messages
// progress.
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

// attend calls serve for a caller that waits for its result: the pump only serves when no thread is
// in C, which is rare where many ranks share a core.
func (w *World) attend() {
	w.lock()
	defer w.unlock()
	w.serve()
}

// serve does the work beside the endpoints. The caller holds the token.
func (w *World) serve() {
	if w.left {
		return
	}
	w.control.serve()
	w.reap()
	w.join()
}

// Abort ends all ranks with an exit code; it does not return. What the rank has printed reaches the
// launcher first: MPICH's ends the job without reading its ranks' pipes once more.
func (w *World) Abort(code int) {
	drained(os.Stdout, 3*time.Second)
	drained(os.Stderr, 3*time.Second)
	atomic.AddInt32(w.wanted, 1)
	select {
	case <-w.token:
	case <-time.After(time.Second): // a stuck holder must not keep the job alive
	}
	C.evb_abort(C.int(code))
	os.Exit(code) // if MPI returns
}

// Exit ends the process. After Close it does so by C's exit: in a handler of that MPICH, since 4.2,
// signs off at its launcher, which else takes the rank for one that was killed. A rank that has not
// closed its world must not sign off: the launcher then ends the others.
func Exit(code int) {
	if finalized.Load() {
		C.exit(C.int(code))
	}
	os.Exit(code)
}

// drained waits until the reader of a pipe has taken everything in it, or for at most limit.
func drained(f *os.File, limit time.Duration) {
	if i, err := f.Stat(); err != nil || i.Mode()&os.ModeNamedPipe == 0 {
		return
	}
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if n, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCINQ); err != nil || n == 0 {
			return
		}
	}
}

// Close leaves the world and waits for the other ranks to leave. It closes everything still open.
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

// bury frees the rest of closed endpoints, which is now unused.
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

// A corpse is a closed endpoint that MPI may still use.
type corpse struct {
	c     *C.evb_ep
	slots []*C.evb_slot
	mem   []block
}

// reap frees what MPI has finished with.
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

// free frees the memory from Alloc, and the slots.
func (c *corpse) free() {
	for _, b := range c.mem {
		C.evb_free(b.p)
	}
	for _, s := range c.slots {
		C.evb_free(unsafe.Pointer(s))
	}
	c.mem, c.slots = nil, nil
}

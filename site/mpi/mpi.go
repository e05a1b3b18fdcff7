// Package mpi is a transport over MPI, and the control connection of runs whose ranks were started
// by mpirun or srun.
//
// It needs cgo and the build tag mpi. Without them Start returns ErrNotBuilt, and the rest is
// unreachable.
//
// The whole process is one rank of the world. MPI calls of a process run one at a time; a phase, or
// many operations, take one call into C. Buffers from Alloc are C memory. MPI chooses the path:
// every Op's Path is transport.Single.
package mpi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Families of MPI.
const (
	OpenMPI = "Open MPI"
	MPICH   = "MPICH"
)

// ErrNotBuilt says that this binary has no MPI, and how to get one that has it.
var ErrNotBuilt = errors.New("this evbench was built without MPI; with the packages gcc and libopenmpi-dev or libmpich-dev installed, make build includes it (go build -tags mpi)")

// An AbsentError is that of Start where no word comes from some ranks: a route leads nowhere, or they
// have ended.
type AbsentError struct {
	Ranks []int
	Names []string // of the ranks, if known
	Self  string   // of this one
	Limit time.Duration
}

func (e *AbsentError) Error() string {
	from, self := strings.Join(e.Names, ", "), e.Self
	if from == "" {
		from, self = "ranks "+strings.Trim(fmt.Sprint(e.Ranks), "[]"), "this rank"
	}
	return fmt.Sprintf("for %v %s has had no message over MPI from %s: a route between them leads nowhere, or they do not run this release", e.Limit, self, from)
}

// A Group is the ranks of one case.
type Group struct {
	// ID tells cases apart. It rises from case to case.
	ID uint32
	// Rank of this endpoint among Ranks.
	Rank int
	// Ranks are the world ranks of all ranks of the case.
	Ranks []int
}

// A frame is a message between the control parts of two ranks: a kind, the number of the stream at
// the receiver, its number at the sender, and a count of bytes: those that follow, or those that
// may be sent. Each takes four bytes, little endian.
type frame struct {
	kind     uint32
	to, from uint32
	n        int
	body     []byte
}

const (
	frameOpen uint32 = iota
	frameAccept
	frameData
	frameWindow
	frameEnd
)

const frameHead = 16

// window is how many bytes may be in transit or unread.
const window = 256 << 10

var errFrame = errors.New("the bytes are not a frame of this protocol")

func (f *frame) head() (h [frameHead]byte) {
	for i, v := range []uint32{f.kind, f.to, f.from, uint32(f.n)} {
		binary.LittleEndian.PutUint32(h[4*i:], v)
	}
	return h
}

func parseFrame(b []byte) (frame, error) {
	if len(b) < frameHead {
		return frame{}, fmt.Errorf("%d bytes: %w", len(b), errFrame)
	}
	le := binary.LittleEndian
	n := le.Uint32(b[12:])
	f := frame{kind: le.Uint32(b), to: le.Uint32(b[4:]), from: le.Uint32(b[8:]), n: int(n), body: b[frameHead:]}
	switch {
	case f.kind > frameEnd:
		return f, fmt.Errorf("kind %d: %w", f.kind, errFrame)
	case n > window:
		return f, fmt.Errorf("%d bytes at once, at most %d: %w", n, window, errFrame)
	case f.kind == frameData && f.n != len(f.body), f.kind != frameData && len(f.body) > 0:
		return f, fmt.Errorf("kind %d with %d bytes, %d announced: %w", f.kind, len(f.body), n, errFrame)
	}
	return f, nil
}

//go:build mpi

package mpi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"evbench/transport"
)

// parts are what ranks play on their own.
var parts = map[string]func(w *World) error{
	"serve": serve, "flood": flood, "quiet": quiet, "control": controlPart, "panic": panics, "refusals": refusals,
	"leftovers": leftovers, "killed": killed, "truncated": truncated, "leaves": leaves, "waits": waits, "named": named,
}

func op(k transport.Kind, peer int, body []byte) transport.Op {
	return transport.Op{Kind: k, Peer: peer, Path: transport.Single, Head: make([]byte, transport.HeadSize), Body: body}
}

// flood posts large fragments from all to all at once.
func flood(w *World) error {
	const size, rounds = 1 << 20, 3
	e, err := open(w, 1)
	if err != nil {
		return err
	}
	var ops []transport.Op
	for p := range w.Size() {
		if p == w.Rank() {
			continue
		}
		for range rounds {
			out := e.Alloc(size)
			out[0], out[size-1] = byte(w.Rank()), byte(p)
			ops = append(ops, op(transport.Send, p, out), op(transport.Recv, p, e.Alloc(size)))
		}
	}
	if err := e.Post(ops); err != nil {
		return err
	}
	done := make([]transport.Op, 16)
	for left := len(ops); left > 0; {
		n, err := e.Poll(context.Background(), done)
		if err != nil {
			return err
		}
		for _, d := range done[:n] {
			if d.N != size || d.Kind == transport.Recv && (d.Body[0] != byte(d.Peer) || d.Body[size-1] != byte(w.Rank())) {
				return fmt.Errorf("%v rank %d: %d bytes, or not its own", d.Kind, d.Peer, d.N)
			}
		}
		left -= n
	}
	return e.Close()
}

// quiet does phases with barriers, which allocate nothing in steady state.
func quiet(w *World) error {
	e, err := open(w, 1)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	peer, done := 1-w.Rank(), make([]transport.Op, 4)
	ops := []transport.Op{op(transport.Send, peer, e.Alloc(1000)), op(transport.Recv, peer, e.Alloc(1000))}
	seq := uint64(0)
	phase := func() {
		seq++
		err = errors.Join(err, e.Exchange(ctx, ops), e.Signal(ctx, peer, seq), e.Await(ctx, peer, seq), e.Barrier(ctx), e.Post(ops))
		for left := len(ops); left > 0 && err == nil; {
			var n int
			n, err = e.Poll(ctx, done)
			left -= n
		}
	}
	for range 10 {
		phase()
	}
	if n := testing.AllocsPerRun(500, phase); n != 0 {
		err = errors.Join(err, fmt.Errorf("%v allocations per phase", n))
	}
	return errors.Join(err, e.Close())
}

// waits has rank 0 wait for a message: once it has waited for a while, it sleeps after each look, and
// so works little for each time that it gives the core away, however slow or busy the machine is.
func waits(w *World) error {
	runtime.LockOSThread() // the thread that is measured is the one that waits
	defer runtime.UnlockOSThread()
	e, err := open(w, 1)
	if err != nil {
		return err
	}
	const wait, start, look = 500 * time.Millisecond, 10 * time.Millisecond, 500 * time.Microsecond
	ctx, peer := context.Background(), 1-w.Rank()
	if w.Rank() == 1 {
		time.Sleep(wait)
		return errors.Join(e.Exchange(ctx, []transport.Op{op(transport.Send, peer, e.Alloc(1))}), e.Close())
	}
	work, sleeps := worked()
	err = e.Exchange(ctx, []transport.Op{op(transport.Recv, peer, e.Alloc(1))})
	workAfter, sleepsAfter := worked()
	work, sleeps = workAfter-work, sleepsAfter-sleeps
	if work > start+time.Duration(sleeps)*look {
		err = errors.Join(err, fmt.Errorf("%v of work and %d sleeps in %v in which nothing came", work, sleeps, wait))
	}
	return errors.Join(err, e.Close())
}

// worked returns for how long this thread has had a core, and how often it gave it away to wait.
func worked() (work time.Duration, sleeps int64) {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_THREAD, &u) // does not fail for the caller itself
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), u.Nvcsw
}

// controlPart has rank 0 answer streams of all ranks, itself among them.
func controlPart(w *World) error {
	var g errgroup.Group
	stuffed := make(chan struct{})
	if w.Rank() == 0 {
		l, err := w.Listen()
		if err != nil {
			return err
		}
		g.Go(func() error { return answerAll(l, w.Size(), stuffed) })
	}
	g.Go(func() error { return talk(w, stuffed) })
	return g.Wait()
}

// answerAll reads from no stream until all are full. Then it sends back to each
// what comes, a megabyte, and closes it.
func answerAll(l net.Listener, n int, stuffed <-chan struct{}) error {
	var g errgroup.Group
	for range n {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		g.Go(func() error {
			defer c.Close()
			<-stuffed
			if _, err := io.CopyN(io.Discard, c, window); err != nil {
				return err
			}
			_, err = io.CopyN(c, c, 1<<20)
			return err
		})
	}
	err := g.Wait()
	return errors.Join(err, l.Close())
}

func talk(w *World, stuffed chan<- struct{}) error {
	c, err := w.Dial(context.Background(), 0)
	if err != nil {
		return err
	}
	if a := c.RemoteAddr(); a.Network() != "mpi" || a.String() != "0" {
		return fmt.Errorf("dialled 0, got %v", a)
	}
	if err := stuff(c); err != nil {
		return err
	}
	e, err := open(w, 1)
	if err != nil {
		return err
	}
	if err := e.Barrier(context.Background()); err != nil {
		return err
	}
	close(stuffed) // here, that is: rank 0 hears it
	if err := c.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		return err
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("Read() = %w after its deadline", err)
	}
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	return echo(c)
}

// stuff writes until nothing more goes into a stream that nobody reads.
func stuff(c net.Conn) error {
	if n, err := c.Write(make([]byte, window)); err != nil || n != window {
		return fmt.Errorf("wrote %d bytes to who does not read yet: %w", n, err)
	}
	if err := c.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		return err
	}
	if n, err := c.Write(make([]byte, 3*window)); !errors.Is(err, os.ErrDeadlineExceeded) || n != 0 {
		return fmt.Errorf("wrote %d bytes more to who does not read: %w", n, err)
	}
	return c.SetWriteDeadline(time.Time{})
}

// echo has a megabyte come back, and then the end.
func echo(c net.Conn) error {
	sent := bytes.Repeat([]byte("0123456789abcde\n"), 1<<16)
	var g errgroup.Group
	g.Go(func() error {
		_, err := c.Write(sent)
		return err
	})
	got, err := io.ReadAll(c)
	if err = errors.Join(err, g.Wait()); err != nil {
		return err
	}
	if !bytes.Equal(got, sent) {
		return fmt.Errorf("%d bytes came back, not the %d that were sent", len(got), len(sent))
	}
	if _, err := c.Write(sent[:1]); err == nil {
		return errors.New("Write to a closed stream gave no error")
	}
	if err := c.Close(); err != nil {
		return err
	}
	if _, err := c.Read(sent[:1]); !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("Read() = %w on a stream that was closed here", err)
	}
	return nil
}

// panics recovers from a fault in Go code: MPI has not taken Go's signals away.
func panics(*World) (err error) {
	defer func() {
		if recover() == nil {
			err = errors.New("no panic")
		}
	}()
	var e *Endpoint
	return e.err
}

// named has the library say what it is, on one line: it is of the MPI that this was compiled for.
func named(w *World) error {
	if name := w.Library(); !strings.HasPrefix(name, Family+" ") || strings.ContainsAny(name, "\n\t,") {
		return fmt.Errorf("compiled for %s, the library is %q", Family, name)
	}
	return nil
}

// refusals are calls that make no sense.
func refusals(w *World) error {
	if _, err := Start(0); err == nil {
		return errors.New("a second Start gave no error")
	}
	if _, err := w.Dial(context.Background(), 2); err == nil {
		return errors.New("dialled a rank that is not there")
	}
	for _, g := range []Group{
		{Rank: 2, Ranks: []int{0, 1}}, {Ranks: []int{0, 0}}, {Ranks: []int{2, 0}}, {Ranks: []int{1 - w.Rank(), w.Rank()}},
	} {
		if _, err := w.Open(context.Background(), g); err == nil {
			return fmt.Errorf("opened %+v", g)
		}
	}
	e, err := open(w, 1)
	if err != nil {
		return err
	}
	err = e.Post([]transport.Op{op(transport.Send, 1-w.Rank(), make([]byte, 10))})
	if err == nil || !strings.Contains(err.Error(), "Alloc") {
		return fmt.Errorf("Post() of a body in Go's memory: %w", err)
	}
	// Nobody listens: the dial waits, and ends with its context.
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if _, err := w.Dial(ctx, w.Rank()); !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("Dial() = %w where nobody listens", err)
	}
	return nil // the world closes the endpoint
}

// leftovers are large fragments that nobody takes. They do not reach the next
// case, and do not keep the world from its end.
func leftovers(w *World) error {
	for id := range uint32(3) {
		e, err := open(w, id)
		if err != nil {
			return err
		}
		next, last := (w.Rank()+1)%w.Size(), (w.Rank()+w.Size()-1)%w.Size()
		in, out := e.Alloc(8<<20), e.Alloc(8<<20)
		out[0] = byte(id)
		ops := []transport.Op{op(transport.Recv, last, in), op(transport.Send, next, out)}
		if err := e.Exchange(context.Background(), ops); err != nil {
			return err
		}
		if in[0] != byte(id) {
			return fmt.Errorf("case %d got a fragment of case %d", id, in[0])
		}
		err = e.Post([]transport.Op{op(transport.Recv, next, in), op(transport.Send, next, out)})
		if pe := (*transport.PeerError)(nil); err != nil && !errors.As(err, &pe) { // it may have closed before
			return err
		}
		if err := e.Close(); err != nil {
			return err
		}
	}
	return nil
}

// waitForEver has all ranks wait for the last one, which does what f does.
func waitForEver(w *World, f func(e *Endpoint) error) error {
	e, err := open(w, 1)
	if err != nil {
		return err
	}
	last := w.Size() - 1
	if w.Rank() == last {
		return f(e)
	}
	return e.Exchange(context.Background(), []transport.Op{op(transport.Recv, last, e.Alloc(10))})
}

func killed(w *World) error {
	return waitForEver(w, func(*Endpoint) error { return syscall.Kill(os.Getpid(), syscall.SIGKILL) })
}

// leaves ends a rank without a word, and with a good exit code.
func leaves(w *World) error {
	return waitForEver(w, func(*Endpoint) error {
		os.Exit(0)
		return nil
	})
}

// truncated has MPI find an error at rank 0, which aborts the job.
func truncated(w *World) error {
	err := waitForEver(w, func(e *Endpoint) error {
		body := e.Alloc(1000)
		_ = e.Exchange(context.Background(), []transport.Op{op(transport.Send, 0, body)})
		return e.Exchange(context.Background(), []transport.Op{op(transport.Recv, 0, body)})
	})
	fmt.Fprintln(os.Stderr, err)
	w.Abort(7)
	return nil
}

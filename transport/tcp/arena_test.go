package tcp

import (
	"bytes"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"evbench/testing/expect"
	"evbench/transport"
)

func TestArena(t *testing.T) {
	a := expect.Value(newArena())(t)
	defer a.close()
	var all [][]byte
	for i, n := range []int{1, 100, pieceSize, 5*pieceSize + 1, 4096, 1, pieceSize - 8192} {
		b := a.alloc(n)
		if len(b) != n || cap(b) != n {
			t.Fatalf("asked for %d bytes, got %d, room for %d", n, len(b), cap(b))
		}
		for k := range b {
			b[k] = byte(i + 1)
		}
		all = append(all, b)
	}
	for i, b := range all { // each still its own, and in the file where find says
		for _, part := range [][]byte{b, b[len(b)/2:], b[len(b)-1:]} {
			at, found := a.find(part)
			got := make([]byte, len(part))
			if _, err := unix.Pread(a.fd, got, at); err != nil || !found || !bytes.Equal(got, bytes.Repeat([]byte{byte(i + 1)}, len(part))) {
				t.Errorf("allocation %d, %d bytes of it: not at %d of the file (%t, %v)", i, len(part), at, found, err)
			}
		}
	}
	if !slices.IsSortedFunc(a.pieces, func(x, y piece) int { return int(x.base>>12) - int(y.base>>12) }) {
		t.Error("pieces are not in order")
	}
	for _, foreign := range [][]byte{make([]byte, 100), {}, nil} {
		if at, found := a.find(foreign); found {
			t.Errorf("%d bytes of other memory found at %d", len(foreign), at)
		}
	}
	if b := a.alloc(0); b == nil || len(b) != 0 {
		t.Errorf("alloc(0) = %v", b)
	}
}

// Without a file, memory is in whole huge pages of its own, and sendfile has nothing to send.
func TestArenaOfHugePages(t *testing.T) {
	a := &arena{fd: -1}
	defer a.close()
	var all [][]byte
	for i, n := range []int{1, 100, hugePage, 2*hugePage + 1, 4096, 1, hugePage - 8192} {
		b := a.alloc(n)
		if len(b) != n || cap(b) != n || address(b)%arenaAlign != 0 || n >= hugePage && address(b)%hugePage != 0 {
			t.Fatalf("asked for %d bytes, got %d, room for %d, at %x", n, len(b), cap(b), address(b))
		}
		for k := range b {
			b[k] = byte(i + 1)
		}
		all = append(all, b)
	}
	for i, b := range all {
		expect.True(t, bytes.Equal(b, bytes.Repeat([]byte{byte(i + 1)}, len(b))), "allocation %d has bytes of another", i)
	}
	for _, tt := range []struct {
		g     Group
		paced bool
		want  bool
	}{
		{Group{Message: leastHuge}, false, true}, {Group{Message: leastHuge - 1}, false, false},
		{Group{}, false, true}, {Group{Message: leastHuge}, true, false},
	} {
		if a, err := tt.g.memory(tt.paced); err != nil || a.ofFile() || (a != nil) != tt.want {
			t.Errorf("messages of %d bytes, paced %t: huge pages %t (%v)", tt.g.Message, tt.paced, a != nil, err)
		}
	}
}

func TestChoiceOfIO(t *testing.T) {
	for _, tt := range []struct {
		name  string
		g     Group
		paced bool
		want  string
	}{
		{"phases", Group{Message: 1 << 20}, false, Copy},
		{"posted, large", Group{Async: true, Message: 2 * worthwhile}, false, Sendfile},
		{"posted, just large enough", Group{Async: true, Message: worthwhile}, false, Sendfile},
		{"posted, small", Group{Async: true, Message: worthwhile - 1}, false, Copy},
		{"posted, of unknown size", Group{Async: true}, false, Sendfile},
		{"emulated", Group{Async: true, Message: 2 * worthwhile}, true, Copy},
		{"told to copy", Group{IO: Copy, Async: true, Message: 1 << 20}, false, Copy},
		{"told to send files", Group{IO: Sendfile, Message: 10}, true, Sendfile},
	} {
		expect.Equal(t, tt.g.io(tt.paced), tt.want, "%s", tt.name)
	}
	expect.True(t, (&Group{IO: "magic", Peers: []Peer{{[]string{"x"}}}}).validate() != nil, `io "magic" was taken`)
}

func TestEndpointSaysItsIO(t *testing.T) {
	for _, tt := range []struct {
		like  Group
		want  string
		least int // body that goes out by sendfile; 0: none
	}{
		{Group{IO: Copy, Async: true}, Copy, 0},
		{Group{Async: true}, Sendfile, worthwhile},
		{Group{IO: Sendfile}, Sendfile, wholePages},
	} {
		e := groupOf(t, 2, Options{}, tt.like, "", transport.Single)[0]
		expect.Equal(t, e.IO(), tt.want, "%+v: IO()", tt.like)
		b := e.Alloc(2 * worthwhile)
		for _, size := range []int{wholePages - 1, wholePages, worthwhile - 1, worthwhile, 2 * worthwhile} {
			_, got := e.mapped(b[:size])
			expect.True(t, got == (tt.least > 0 && size >= tt.least), "%+v: %d bytes by sendfile: %t", tt.like, size, got)
		}
	}
}

// Bodies from the arena, from elsewhere, and too small for pages of their own arrive alike, in the order sent,
// while the socket's buffer is full most of the time.
func TestSendfileFallsBack(t *testing.T) {
	const big = 3*wholePages + 77
	eps := groupOf(t, 2, Options{}, Group{IO: Sendfile, SockBuf: 64 << 10}, "", transport.Single)
	file, own := eps[0].Alloc(big), make([]byte, big)
	for i := range own {
		file[i], own[i] = byte(i*7), byte(i*11)
	}
	bodies := [][]byte{file, own, file[:100], file[wholePages/2:], nil, file[1 : 1+wholePages], own[:1], file}
	var sends, receives []transport.Op
	for _, b := range bodies {
		s, r := op(transport.Send, 1, transport.Single, ""), op(transport.Recv, 0, transport.Single, "")
		s.Body, r.Body = b, eps[1].Alloc(len(b))
		sends, receives = append(sends, s), append(receives, r)
	}
	end := make(chan error)
	go func() { end <- postAll(t, eps[0], sends)() }()
	expect.Must(t, postAll(t, eps[1], receives)())
	expect.Must(t, <-end)
	for i, r := range receives {
		expect.True(t, bytes.Equal(r.Body, bodies[i]), "body %d of %d bytes is not what was sent", i, len(bodies[i]))
	}
}

// After Close memory is still to be had, if not from the arena.
func TestAllocAfterClose(t *testing.T) {
	e := groupOf(t, 2, Options{}, Group{IO: Sendfile}, "", transport.Single)[0]
	expect.Must(t, e.Close())
	clear(e.Alloc(wholePages))
}

// In steady state nothing is allocated, in phases with a barrier as little as by
// posted operations, whatever becomes of the payload.
func TestHotPathAllocatesNothing(t *testing.T) {
	for _, io := range []string{Copy, Sendfile} {
		for name, work := range map[string]func(t *testing.T, e *Endpoint) func() error{
			"phases": phased, "posted": posted, "posted, dropped": dropped,
		} {
			t.Run(io+"/"+name, func(t *testing.T) {
				got := allocations(t, groupOf(t, 2, Options{}, Group{IO: io}, "tournament", transport.Single), work)
				expect.True(t, got == 0, "%v allocations per exchange of two ranks", got)
			})
		}
	}
}

// allocations counts what all ranks together allocate in one step of their work.
func allocations(t *testing.T, eps []*Endpoint, work func(t *testing.T, e *Endpoint) func() error) float64 {
	begin, end := make(chan bool), make(chan error)
	for _, e := range eps {
		go func() {
			step := work(t, e)
			for range begin {
				end <- step()
			}
		}()
	}
	defer close(begin)
	all := func() {
		for range eps {
			begin <- true
		}
		for range eps {
			expect.Must(t, <-end)
		}
	}
	for range 10 {
		all()
	}
	return testing.AllocsPerRun(200, all)
}

func both(e *Endpoint, size int) []transport.Op {
	ops := make([]transport.Op, 2)
	for i, k := range []transport.Kind{transport.Send, transport.Recv} {
		ops[i] = op(k, 1-e.Rank(), transport.Single, "")
		ops[i].Body = e.Alloc(size)
	}
	return ops
}

const allocSize = 100_000 // more than a page, and than goes out in one piece

func phased(t *testing.T, e *Endpoint) func() error {
	ctx, ops, seq := t.Context(), both(e, allocSize), uint64(0)
	return func() error {
		if err := e.Exchange(ctx, ops); err != nil {
			return err
		}
		seq++
		if err := e.Signal(ctx, 1-e.Rank(), seq); err != nil {
			return err
		}
		return e.Await(ctx, 1-e.Rank(), seq)
	}
}

func posted(t *testing.T, e *Endpoint) func() error {
	ops := both(e, allocSize)
	for _, k := range []transport.Kind{transport.SendRequest, transport.RecvRequest} {
		ops = append(ops, op(k, 1-e.Rank(), transport.Single, ""))
	}
	return postAll(t, e, ops)
}

func dropped(t *testing.T, e *Endpoint) func() error {
	ops := both(e, allocSize)
	ops[1].Body, ops[1].Drop = nil, allocSize
	return postAll(t, e, ops)
}

func postAll(t *testing.T, e *Endpoint, ops []transport.Op) func() error {
	ctx, done := t.Context(), make([]transport.Op, len(ops))
	return func() error { return postAndPoll(ctx, e, ops, done) }
}

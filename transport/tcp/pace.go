package tcp

import (
	"slices"
	"time"
)

const (
	// Chunks are a 32nd of a message, within these bounds: small enough for flows to share a link
	// almost fairly, large enough for timers to keep up.
	chunksPerMessage   = 32
	minChunk, maxChunk = 4 << 10, 64 << 10

	// chunksInFlight keeps a link busy while the thread wakes up for an arrived chunk. If the Pacer
	// cannot predict the arrival, a thread that wakes up late would lose time: then about a whole
	// message is in flight.
	chunksInFlight, chunksUnknown = 2, chunksPerMessage

	// maxLate is how late a thread may wake up without effect on the model: the next chunk asks as
	// of the arrival of the one before.
	maxLate = 20 * time.Millisecond
)

// A pacing is the Pacer's answers about the first message of a connection.
type pacing struct {
	asked   int // bytes of the message reserved so far
	allowed int // bytes that may be written
	flying  [chunksUnknown]flying
	n       int       // chunks in flight
	as      time.Time // time as of which to ask next, if it is recent
	retry   time.Time // the Pacer had no path; when to ask again
}

// A flying chunk may be written once it is ready or, if it is a flight, once it has landed, which
// is never before ready.
type flying struct {
	ready         time.Time
	bytes, flight int
}

// landed reports whether a chunk may be written, or else updates when to ask again.
func (f *flying) landed(pacer Pacer, now time.Time) (ok bool) {
	if f.ready.After(now) {
		return false
	}
	if f.flight == 0 {
		return true
	}
	f.ready, ok = pacer.Landed(f.flight, now)
	return ok
}

func (p *pacing) room() bool {
	if p.n > 0 && p.flying[p.n-1].flight != 0 {
		return p.n < chunksUnknown
	}
	return p.n < chunksInFlight
}

// allowed returns how many bytes of a message of total bytes may be written now.
func (e *Endpoint) allowed(c *conn, total int) int {
	p := &c.pace
	if p.allowed > 0 {
		return p.allowed
	}
	now := time.Now()
	for p.n > 0 && p.flying[0].landed(e.pacer, now) {
		p.allowed += p.flying[0].bytes
		p.as = p.flying[0].ready
		p.n--
		copy(p.flying[:], p.flying[1:])
	}
	chunk := min(max(total/chunksPerMessage, minChunk), maxChunk)
	path := c.path
	if !c.ours {
		path = e.group.back(path)
	}
	for p.asked < total && p.room() && !now.Before(p.retry) {
		bytes := min(chunk, total-p.asked)
		ready, flight, ok := e.pacer.Reserve(e.group.Rank, c.peer, path, bytes, p.asOf(now))
		if !ok {
			p.retry = ready
			break
		}
		p.asked += bytes
		p.flying[p.n] = flying{ready, bytes, flight}
		p.n++
	}
	return p.allowed
}

// asOf returns the time as of which to reserve the next chunk. The first chunk of a message uses
// now.
func (p *pacing) asOf(now time.Time) time.Time {
	if p.asked == 0 || now.Sub(p.as) > maxLate {
		p.as = now
	}
	return p.as
}

func (p *pacing) next() time.Time {
	if p.n > 0 {
		return p.flying[0].ready
	}
	return p.retry
}

// sleep deactivates a connection until the Pacer permits a write.
func (e *Endpoint) sleep(c *conn) {
	c.asleep = true
	e.asleep = append(e.asleep, c)
}

// rouse wakes the connections that are due, and returns the time until the next one is; negative if
// none sleeps.
func (e *Endpoint) rouse() time.Duration {
	if len(e.asleep) == 0 {
		return -1
	}
	now := time.Now()
	wait := time.Duration(-1)
	e.asleep = slices.DeleteFunc(e.asleep, func(c *conn) bool {
		d := c.pace.next().Sub(now)
		if d <= 0 {
			c.asleep = false
			e.activate(c)
		} else if wait < 0 || d < wait {
			wait = d
		}
		return d <= 0
	})
	return wait
}

package live

import (
	"fmt"
	"time"
)

// Sets shows the progress of a survey of sets: continuously on a screen, otherwise in a line every
// ten seconds.
type Sets struct {
	*Terminal
	What        string // "sets"
	now         func() time.Time
	start, last time.Time
	every       time.Duration
}

// NewSets returns a Sets for a survey that begins now.
func NewSets(t *Terminal, now func() time.Time) *Sets {
	p := &Sets{Terminal: t, What: "sets", now: now, start: now(), last: now(), every: 10 * time.Second}
	if t.Live() {
		p.every = 200 * time.Millisecond
	}
	return p
}

// Update gets the number of finished sets.
func (p *Sets) Update(done, total int) {
	now := p.now()
	if now.Sub(p.last) < p.every || done == total {
		return
	}
	p.last = now
	text := rate(done, total, p.What, now.Sub(p.start))
	if p.Live() {
		p.Pass(text)
	} else {
		p.Line(text)
	}
}

// rate writes "120 of 2016 sets, 410/s, about 4.6s left".
func rate(done, total int, what string, took time.Duration) string {
	perSecond := float64(done) / took.Seconds()
	left := time.Duration(float64(total-done) / perSecond * float64(time.Second))
	return fmt.Sprintf("%d of %d %s, %.0f/s, about %s left", done, total, what, perSecond, Seconds(left))
}

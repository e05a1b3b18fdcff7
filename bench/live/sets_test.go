package live

import (
	"bytes"
	"testing"
	"time"

	"evbench/internal/expect"
)

// Without a screen progress is a line every ten seconds.
func TestSets(t *testing.T) {
	var b bytes.Buffer
	now := time.Unix(0, 0)
	p := NewSets(&Terminal{To: &b}, func() time.Time { return now })
	for range 11 {
		now = now.Add(time.Second)
		p.Update(int(5*now.Unix()), 2016)
	}
	expect.Equal(t, b.String(), "50 of 2016 sets, 5/s, about 6m33.2s left\n", "line")
}

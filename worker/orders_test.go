package worker

import (
	"testing"

	"evbench/internal/expect"
)

// A loop is woken for events only if it needs them, and for all else always. What
// came before it waits, it is told of.
func TestDeskWakes(t *testing.T) {
	event := func(o *orders) { o.events = append(o.events, 1) }
	for _, tt := range []struct {
		name   string
		needs  bool
		change func(*orders)
		woken  bool
	}{
		{"events, needed", true, event, true},
		{"events, not needed", false, event, false},
		{"the end", false, func(o *orders) { o.finish = true }, true},
		{"measure", false, func(o *orders) { o.measure = true }, true},
		{"a grant", false, func(o *orders) { o.granted = true }, true},
	} {
		d, woken := newMailbox(), false
		d.onChange(func() { woken = true })
		expect.True(t, !d.expects(tt.needs), "%s: news before there are any", tt.name)
		d.change(tt.change)
		expect.Equal(t, woken, tt.woken, "%s: woken", tt.name)
		expect.True(t, d.expects(tt.needs), "%s: told of nothing new", tt.name)
		d.take(nil)
		expect.True(t, !d.expects(tt.needs), "%s: told twice", tt.name)
	}
}

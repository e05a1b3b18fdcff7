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
		if d.expects(tt.needs) {
			t.Errorf("%s: news before there are any", tt.name)
		}
		d.change(tt.change)
		expect.Equal(t, woken, tt.woken, "%s: woken", tt.name)
		if !d.expects(tt.needs) {
			t.Errorf("%s: told of nothing new", tt.name)
		}
		d.take(nil)
		if d.expects(tt.needs) {
			t.Errorf("%s: told twice", tt.name)
		}
	}
}

package worker

import (
	"testing"
	"time"

	"evbench/internal/expect"
)

// What stands still is told from what nobody looked at, and from what is allowed.
func TestWatch(t *testing.T) {
	type look struct {
		at    int // s
		moves uint64
		idle  bool
		still bool
	}
	for _, tt := range []struct {
		name    string
		allowed int // s
		looks   []look
	}{
		{"moves", 0, []look{{at: 1, moves: 1}, {at: 2, moves: 2}, {at: 3, moves: 3}, {at: 4, moves: 4}, {at: 5, moves: 5}, {at: 6, moves: 6}, {at: 7, moves: 7}, {at: 8, moves: 8}, {at: 9, moves: 9}}},
		{"still", 0, []look{{at: 1, moves: 1}, {at: 3, moves: 1}, {at: 5, moves: 1}, {at: 7, moves: 1}, {at: 8, moves: 1}, {at: 9, moves: 1, still: true}}},
		{"nothing to do", 0, []look{{at: 2, idle: true}, {at: 4, idle: true}, {at: 6, idle: true}, {at: 8, idle: true}, {at: 10, idle: true}, {at: 12}, {at: 14}, {at: 16}, {at: 18, still: true}}},
		{"stopped", 0, []look{{at: 1, moves: 1}, {at: 11, moves: 1}, {at: 13, moves: 1}, {at: 15, moves: 1}, {at: 17, moves: 1}, {at: 18, moves: 1}, {at: 19, moves: 1, still: true}}},
		{"stopped for ever and a day", 0, []look{{at: 1, moves: 1}, {at: 100000, moves: 1}, {at: 100001, moves: 2}}},
		{"allowed", 4, []look{{at: 1, moves: 1}, {at: 3, moves: 1}, {at: 5, moves: 1}, {at: 7, moves: 1}, {at: 9, moves: 1}, {at: 11, moves: 1}, {at: 12, moves: 1, still: true}}},
	} {
		w := newWatch(0, 8*time.Second)
		w.allowed = time.Duration(tt.allowed) * time.Second
		for _, l := range tt.looks {
			expect.Equal(t, w.still(time.Duration(l.at)*time.Second, l.moves, !l.idle), l.still, "%s: at %d s: still", tt.name, l.at)
		}
	}
}

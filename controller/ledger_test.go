package controller

import (
	"math/rand/v2"
	"testing"

	"evbench/internal/wire"
)

func TestCheckRanges(t *testing.T) {
	type rs = []wire.Range
	for _, tt := range []struct {
		name    string
		done    rs
		granted uint64
		want    check
	}{
		{"nothing", nil, 0, check{}},
		{"all", rs{{From: 0, To: 9}}, 9, check{assigned: 9, built: 9}},
		{"none", nil, 9, check{assigned: 9, lost: 9}},
		{"a gap", rs{{From: 0, To: 3}, {From: 5, To: 9}}, 9, check{assigned: 9, built: 7, lost: 2}},
		{"twice", rs{{From: 0, To: 9}, {From: 2, To: 4}}, 9, check{assigned: 9, built: 9, duplicate: 2}},
		{"overlap", rs{{From: 0, To: 5}, {From: 3, To: 9}}, 9, check{assigned: 9, built: 9, duplicate: 2}},
		{"too many", rs{{From: 0, To: 12}}, 9, check{assigned: 9, built: 9, unknown: 3}},
		{"beyond", rs{{From: 0, To: 9}, {From: 11, To: 12}}, 9, check{assigned: 9, built: 9, unknown: 1}},
		{"upside down", rs{{From: 0, To: 9}, {From: 7, To: 5}}, 9, check{assigned: 9, built: 9}},
	} {
		if got := checkRanges(tt.done, tt.granted); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// The ledger against maps.
func TestLedger(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var l ledger
	owner, closed := map[uint64]int{}, map[uint64]bool{}
	want := check{}
	for range 5000 {
		rank := r.IntN(3)
		if r.IntN(2) == 0 {
			owner[l.assign(rank)] = rank
			want.assigned++
			continue
		}
		id, how := uint64(r.IntN(len(owner)+2)), []fate{built, gaveUp}[r.IntN(2)]
		switch o, ok := owner[id]; {
		case !ok:
			want.unknown++
		case closed[id]:
			want.duplicate++
		case o != rank:
			want.unknown++
		default:
			closed[id] = true
			if how == built {
				want.built++
			}
		}
		l.close(rank, id, how)
	}
	want.lost = want.assigned - want.built
	if got := l.check(); got != want || l.open != len(owner)-len(closed) {
		t.Errorf("check %+v with %d open, want %+v with %d", got, l.open, want, len(owner)-len(closed))
	}
}

package builder_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"evbench/builder"
	"evbench/builder/load"
	"evbench/testing/expect"
)

func rankOf(source string) int { return slices.Index([]string{"a", "b", "c"}, source) }

func TestReadTrace(t *testing.T) {
	const text = "\ufefftime, source, bytes\n# x\n1700000000.5,b,7\r\n\n1700000000.5,a,0\n1.7000000005e9,c,9\n1700000001, c ,1073741824\n1700000003,a,1\n"
	got := expect.Value(builder.ReadTrace(strings.NewReader(text), 3, 9, rankOf))(t)
	expect.Equal(t, got.Times, []time.Duration{0, time.Second / 2, 5 * time.Second / 2}, "times")
	expect.Equal(t, got.Table, []uint32{0, 7, 9, 0, 0, 1 << 30, 1, 0, 0}, "bytes")
	expect.Equal(t, got.Rate(), .8, "rate")
	for _, first := range []uint64{0, 1, 2, 3, 7} {
		table := got.From(first)
		for event := range uint64(9) {
			at := (first + event) % 3 * 3
			expect.Equal(t, table[at:at+3], got.Table[event%3*3:][:3], "event %d after %d", event, first)
		}
	}
	var next []time.Duration
	for c := load.NewClock(load.Load{Arrival: load.Traced, Rate: got.Rate(), Times: got.Times}, 1); len(next) < 5; {
		next = append(next, c.Next())
	}
	expect.Equal(t, next, append(got.Times, 3750*time.Millisecond, 4250*time.Millisecond), "the clock")
	_, err := builder.ReadTrace(strings.NewReader(text), 3, 8, rankOf)
	expect.True(t, errors.Is(err, builder.ErrLongTable) && strings.HasPrefix(err.Error(), "line 8: "), "%v", err)
}

// Whatever the bytes, ReadTrace returns times in order and a size for each source.
func FuzzReadTrace(f *testing.F) {
	f.Add("time,source,bytes\n0,a,1\n0,b,2\n1e-3,c,3\n")
	f.Add("time,source,bytes\n0x1p-40,a,1\n1e-9,b,2\n4e9,c,3\n")
	f.Add("time,source,bytes\nNaN,a,1\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := builder.ReadTrace(strings.NewReader(text), 3, builder.MaxTable, rankOf)
		if err != nil {
			return
		}
		d := builder.Distribution{By: builder.ByEvent, Scale: 1, Table: got.Table}
		c, last := load.NewClock(load.Load{Arrival: load.Traced, Rate: got.Rate(), Times: got.Times}, 1), time.Duration(0)
		for range min(3*len(got.Times), 1000) {
			at := c.Next()
			if at < last {
				t.Fatalf("%q: %v after %v", text, at, last)
			}
			last = at
		}
		if err := d.Check(builder.Roles{Servers: 3}); err != nil || len(got.Table) != 3*len(got.Times) || !(got.Rate() > 0) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	})
}

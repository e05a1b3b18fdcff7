package held

import (
	"encoding/json"
	"testing"

	"evbench/testing/expect"
)

// However a state file is read, it names a process that could be there, and descriptors.
func FuzzState(f *testing.F) {
	for _, seed := range []string{
		"", "\n", "x", `{"pid":4711,"nodes":{},"text":"x"}`, `{"pid":-4711,"start":1,"exe":"1:1"}`,
		`{"pid":7,"start":9,"exe":"1:2","user":true,"text":"FT(2;2,2)"}`, `{"pid":7,"start":9,"exe":"1:2","nodes":{"leaf0":3},"text":"t"}`,
		`{"pid":7,"start":9,"exe":"1:2","nodes":{"leaf0":-3},"text":"t"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := parse(text)
		if err != nil {
			return
		}
		expect.True(t, h.PID >= 1 && h.Start != 0 && h.Exe != "", "%+v", h)
		for name, fd := range h.Nodes {
			expect.True(t, fd >= 0, "%s: %d", name, fd)
		}
		line := expect.Value(json.Marshal(h))(t)
		again, err := parse(line)
		expect.True(t, err == nil && again.ID == h.ID && len(again.Nodes) == len(h.Nodes), "%+v, then %+v, %v", h, again, err)
	})
}

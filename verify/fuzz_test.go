package verify_test

import (
	"bytes"
	"testing"

	"evbench/verify"
)

// FuzzRead: whatever the bytes, Read does not panic, and Check judges all that
// Read accepts, the same way twice.
func FuzzRead(f *testing.F) {
	for _, d := range drafts(f, 2, 3) {
		f.Add([]byte(d.text()))
		f.Add([]byte(d.json(f)))
		d.routing = "spread"
		f.Add([]byte(d.text()))
	}
	f.Add([]byte(head + "# spines 9\n# down spine0\n# bound 4 lp\n## x\n16777216 16777216 0 16777216\n0 1 1 -\n"))
	f.Add([]byte(lp(f, tree(f, optionsOf(2, 2)), 3, []weight{{"leaf0-spine0", "up", 1<<63 - 1}})))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := verify.Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		o := verify.Options{Bound: true, AllowContention: len(data)%2 == 0}
		r, again := verify.Check(file, o), verify.Check(file, o)
		if r.Total != again.Total || r.Valid != (r.Total == 0) || len(r.Offences) > 10 || r.Total < len(r.Offences) {
			t.Fatalf("%+v\nthen %+v", r, again)
		}
		kinds := 0
		for _, n := range r.Counts {
			kinds += n
		}
		if kinds != r.Total {
			t.Fatalf("counts %v, total %d", r.Counts, r.Total)
		}
	})
}

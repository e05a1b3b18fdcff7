package scenario

import (
	"strings"
	"testing"

	"evbench/builder"
)

// Whatever the bytes, readTable returns whole rows that somebody sends something of.
func FuzzReadTable(f *testing.F) {
	f.Add("1,2,3\n4,5,6\n")
	f.Add("# x\n\n 1 ,0,1073741824\r\n")
	f.Add("0,0,0\n")
	f.Add("1,2\n")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := readTable(strings.NewReader(text), 3)
		if err != nil {
			return
		}
		d := builder.Distribution{By: builder.ByEvent, Scale: 1, Table: table}
		if err := d.Check(3); err != nil || someBytes(table) != nil {
			t.Errorf("%q: %v, %v", text, table, err)
		}
	})
}

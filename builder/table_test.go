package builder_test

import (
	"errors"
	"strings"
	"testing"

	"evbench/builder"
	"evbench/testing/expect"
)

func TestReadTable(t *testing.T) {
	got := expect.Value(builder.ReadTable(strings.NewReader("\ufeff1,2,3\r\n# x\n\n 4 ,0,1073741824\n"), 3, 6))(t)
	expect.Equal(t, got, []uint32{1, 2, 3, 4, 0, 1 << 30}, "the table")
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", "no fragment has bytes"},
		{"zeros", "0,0,0\n", "no fragment has bytes"},
		{"few", "1,2,3\n1,2\n", "line 2: 2 numbers for 3 servers"},
		{"header", "src,dst,bytes\n", `line 1: source 0: "src": write bytes, a whole number 0..1073741824`},
		{"sign", "1,-1,2\n", `source 1: "-1": write bytes`},
		{"fraction", "1,2,4.5\n", `source 2: "4.5": write bytes`},
		{"large", "1,2,1073741825\n", "write bytes, a whole number 0..1073741824"},
		{"line", "1,2,3\n#" + strings.Repeat("x", 1<<16), "line 2: longer than 65536 bytes"},
	} {
		_, err := builder.ReadTable(strings.NewReader(tt.text), 3, 6)
		expect.True(t, err != nil && strings.Contains(err.Error(), tt.want), "%s: %v, want %q", tt.name, err, tt.want)
	}
	_, err := builder.ReadTable(strings.NewReader("1,2,3\n4,5,6\n7,8,9\n"), 3, 6)
	expect.True(t, errors.Is(err, builder.ErrLongTable) && strings.HasPrefix(err.Error(), "line 3: "), "%v", err)
}

// Whatever the bytes, ReadTable returns whole lines that some source sends bytes of.
func FuzzReadTable(f *testing.F) {
	f.Add("1,2,3\n4,5,6\n")
	f.Add("# x\n\n 1 ,0,1073741824\r\n")
	f.Add("0,0,0\n")
	f.Add("1,2\n")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := builder.ReadTable(strings.NewReader(text), 3, builder.MaxTable)
		if err != nil {
			return
		}
		d := builder.Distribution{By: builder.ByEvent, Scale: 1, Table: table}
		if err := d.Check(builder.Roles{Servers: 3}); err != nil || builder.CheckTable(table) != nil {
			t.Errorf("%q: %v, %v", text, table, err)
		}
	})
}

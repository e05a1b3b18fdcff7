package sizes_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"evbench/model/sizes"
	"evbench/testing/expect"
)

func TestReadMatrix(t *testing.T) {
	named := expect.Value(sizes.ReadMatrix(strings.NewReader("\ufeff# a comment\n\nsource, b ,a,c\r\nb,9,1,2\na,3,9,0\nc,4,5,9\n")))(t)
	expect.Equal(t, named.Names, []string{"b", "a", "c"}, "names")
	m := expect.Value(named.For(3, func(name string) (int, bool) { i := slices.Index([]string{"a", "b", "c"}, name); return i, i >= 0 }))(t)
	expect.True(t, m.Size(1, 0) == 1 && m.Size(1, 2) == 2 && m.Size(0, 1) == 3 && m.Size(2, 1) == 4 && m.Size(2, 0) == 5 && m.Sum() == 15, "%+v", m)

	parts := expect.Value(sizes.ReadMatrix(strings.NewReader("alltoallv,3001\n0.3,0.4,1\n0.2,0,0.8\n0.1,0.2,0.7\n")))(t)
	m = expect.Value(parts.For(3, nil))(t)
	expect.True(t, m.Size(0, 1) == 400 && m.Size(0, 2) == 1000 && m.Size(2, 0) == 100 && m.Size(1, 2) == 800, "%+v", m)

	for _, tt := range []struct{ name, text, want string }{
		{"empty", "# x\n", "0 rows: a matrix has as many as columns"},
		{"table of events", "1,2\n3,4\n", `line 1: "1": a matrix begins with a line source,NAME`},
		{"list", "src,dst,bytes\n", `line 1: "src": a matrix begins`},
		{"few rows", "source,a,b\na,0,1\n", "1 rows"},
		{"rows", "source,a,b\na,0,1\nb,1,0\nc,1,0\n", "line 4: row 3 has 2 numbers: 2 rows"},
		{"columns", "source,a,b\na,0,1,2\n", "line 2: row 1 has 3 numbers"},
		{"order", "source,a,b\nb,0,1\n", `line 2: row "b": must be "a"`},
		{"twice", "source,a,a\n", `line 1: column 2: "a": each destination has a name of its own`},
		{"one", "source,a\n", "1 columns"},
		{"negative", "source,a,b\na,0,-1\n", "line 2: column 2: -1 bytes: must be 0..1099511627776"},
		{"word", "source,a,b\na,0,x\n", `line 2: column 2: "x": write bytes`},
		{"size", "alltoallv,0\n", `size "0": write bytes`},
		{"part", "alltoallv,9\n0,1.5\n", `line 2: column 2: "1.5": must be a number 0..1`},
		{"NaN", "alltoallv,9\n0,NaN\n", `"NaN": must be`},
		{"nothing", "source,a,b\na,5,0\nb,0,5\n", "no fragment between two servers has bytes"},
		{"long", "source,a,b\n#" + strings.Repeat("x", 1<<18), "line 2: longer than 262144 bytes"},
	} {
		expect.Error(t, expect.Err(sizes.ReadMatrix(strings.NewReader(tt.text))), tt.want)
	}
	expect.Error(t, expect.Err(named.For(4, nil)), "a matrix of 3 servers; there are 4")
	expect.Error(t, expect.Err(named.For(3, func(string) (int, bool) { return 0, false })), `"b" is none of the 3 servers`)
	expect.Error(t, expect.Err(named.For(3, func(string) (int, bool) { return 0, true })), `"b" and "a" are one server`)
	expect.True(t, sizes.IsMatrix([]byte("\n# x\n source,a")) && sizes.IsMatrix([]byte("alltoallv,5")) && !sizes.IsMatrix([]byte("0,1\nsource")) && !sizes.IsMatrix(nil) &&
		sizes.IsMatrix([]byte("0 16.5\n16 0\n")) && !sizes.IsMatrix([]byte("7\n")) && !sizes.IsMatrix([]byte("a b\n")), "first lines")
}

// Whatever the bytes, a matrix that is read has a row and a column for each server, and its sum.
func FuzzReadMatrix(f *testing.F) {
	f.Add("source,a,b\na,0,1\nb,2,0\n")
	f.Add("alltoallv,100\n0.5,1\n1,0\n")
	f.Add("0 100.5\n 32\t0\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := sizes.ReadMatrix(strings.NewReader(text))
		if err != nil {
			return
		}
		n, sum := s.Servers(), int64(0)
		for i := range n {
			for j := range n {
				sum += s.Size(i, j)
			}
		}
		m, err := s.For(n, func(name string) (int, bool) { i := slices.Index(s.Names, name); return n - 1 - i, true })
		expect.MustTrue(t, err == nil && sum == s.Sum() && m.Sum() == sum && sum > 0, "%q: %d bytes, %v %s", text, sum, err, strconv.Itoa(n))
	})
}

// Numbers alone are the matrix file of alltoallv_perf: bytes, of which whole multiples of 16 are sent.
func TestReadMatrixPlain(t *testing.T) {
	m := expect.Value(sizes.ReadMatrix(strings.NewReader("# a comment\n100 200 150\n 50\t100 75\n\n300 1.5e3 200\n")))(t)
	expect.True(t, m.Names == nil && m.Servers() == 3 && m.Size(0, 1) == 192 && m.Size(0, 2) == 144 && m.Size(1, 0) == 48 && m.Size(2, 1) == 1488, "%+v", m.Matrix)
	for text, want := range map[string]string{
		"1 2\n3\n":      "line 2: row 2 has 1 numbers",
		"1 2\n3 x\n":    `line 2: column 2: "x": write bytes`,
		"1 2\n3 -4\n":   `line 2: column 2: "-4": write bytes`,
		"1 20\n":        "1 rows",
		"1 2\n3 4,5\n":  `line 2: column 2: "4,5": write bytes`,
		"source a\n1 2": "a matrix begins with a line source",
	} {
		expect.Error(t, expect.Err(sizes.ReadMatrix(strings.NewReader(text))), want)
	}
}

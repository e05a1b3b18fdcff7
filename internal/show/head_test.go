package show_test

import (
	"bytes"
	"testing"

	"evbench/internal/show"
	"evbench/testing/expect"
)

// What is written in pieces comes out as what is written at once.
func TestHead(t *testing.T) {
	const text = "first\na line that is too long\n\nfourth\nfifth\n"
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		h := show.Head{To: &out, Lines: 3, Width: 10}
		for rest := text; rest != ""; {
			piece := rest[:min(size, len(rest))]
			if n, err := h.Write([]byte(piece)); n != len(piece) || err != nil {
				t.Fatal(n, err)
			}
			rest = rest[len(piece):]
		}
		expect.Equal(t, out.String(), "first\na line tha\n\n", "pieces of %d bytes", size)
		expect.Equal(t, h.Omitted(), 2, "lines left out")
		expect.True(t, h.Cut, "the second line is cut")
		h = show.Head{To: &out, Lines: 3, Width: 30}
		h.Write([]byte(text))
		expect.False(t, h.Cut, "no line is cut")
	}
}

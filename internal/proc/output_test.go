package proc

import (
	"os"
	"strings"
	"testing"

	"evbench/testing/expect"
)

// What a command has written is its answer, also if this program comes to read it late, and a child of the command holds the pipe.
func TestRest(t *testing.T) {
	from, to, err := os.Pipe()
	expect.Must(t, err)
	defer from.Close()
	defer to.Close()
	want := strings.Repeat("route ", 2000)
	_, err = to.WriteString(want)
	expect.Must(t, err)
	var got strings.Builder
	rest(from, &got)
	expect.Equal(t, got.String(), want, "read")
}

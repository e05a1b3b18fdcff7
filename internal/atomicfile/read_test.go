package atomicfile_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"evbench/internal/atomicfile"
)

func TestRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(name, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := atomicfile.Read(name, 5); err != nil || string(b) != "12345" {
		t.Errorf("%q, %v", b, err)
	}
	for _, most := range []int64{0, 4} {
		if b, err := atomicfile.Read(name, most); err == nil || b != nil || !strings.Contains(err.Error(), name+": more than ") {
			t.Errorf("%q, %v", b, err)
		}
	}
	if b, err := atomicfile.Read("/dev/zero", 1<<16); err == nil || b != nil {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if _, err := atomicfile.Read(name+"y", 5); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// What is given out is never more than the bound, however it is read.
func TestBound(t *testing.T) {
	for _, size := range []int{0, 1, 9, 10, 11, 1000} {
		text := bytes.Repeat([]byte{'x'}, size)
		for _, r := range []io.Reader{bytes.NewReader(text), iotest.OneByteReader(bytes.NewReader(text)), iotest.DataErrReader(bytes.NewReader(text))} {
			b, err := io.ReadAll(atomicfile.Bound(r, 10))
			if len(b) != min(size, 10) || (err != nil) != (size > 10) {
				t.Errorf("of %d bytes: %d, %v", size, len(b), err)
			}
		}
	}
}

package atomicfile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evbench/internal/atomicfile"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x")
	put := func(text string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			_, werr := io.WriteString(w, text)
			return errors.Join(werr, err)
		}
	}
	if err := atomicfile.Write(name, put("old", nil)); err != nil {
		t.Fatal(err)
	}
	cause := errors.New("out of ideas")
	if err := atomicfile.Write(name, put("half of the n", cause)); !errors.Is(err, cause) || !strings.Contains(err.Error(), name) {
		t.Errorf("error = %v", err)
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != "old" {
		t.Errorf("the file holds %q, %v", b, err)
	}
	if err := atomicfile.Write(name, put("new", nil)); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != "new" {
		t.Errorf("the file holds %q, %v", b, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%d files, %v", len(entries), err)
	}
	if err := atomicfile.Write(filepath.Join(dir, "absent", "x"), put("", nil)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error = %v", err)
	}
}

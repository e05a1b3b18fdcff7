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
	if err := atomicfile.Write(filepath.Join(name, "x"), put("", nil)); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("below a file: error = %v", err)
	}
}

func TestWriteMakesFolders(t *testing.T) {
	name := filepath.Join(t.TempDir(), "new", "folder", "x")
	hello := func(w io.Writer) error {
		_, err := io.WriteString(w, "hello")
		return err
	}
	if err := atomicfile.Write(name, hello); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != "hello" {
		t.Errorf("the file holds %q, %v", b, err)
	}
}

// A device and a link stay what they are.
func TestWriteToOtherThanFiles(t *testing.T) {
	dir := t.TempDir()
	hello := func(w io.Writer) error {
		_, err := io.WriteString(w, "hello")
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"null": os.DevNull, "link": filepath.Join(dir, "file")} {
		link := filepath.Join(dir, name)
		before, err := os.Stat(target)
		if err := errors.Join(err, os.Symlink(target, link), atomicfile.Write(link, hello)); err != nil {
			t.Fatal(err)
		}
		after, err := os.Stat(target)
		if err != nil || after.Mode() != before.Mode() {
			t.Errorf("%s: mode %v before, %v after, %v", target, before.Mode(), after.Mode(), err)
		}
		if to, err := os.Readlink(link); err != nil || to != target {
			t.Errorf("%s leads to %q, %v", link, to, err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(b) != "hello" {
		t.Errorf("behind the link is %q, %v", b, err)
	}
	if err := atomicfile.Write(dir, hello); err == nil {
		t.Error("a folder was written to")
	}
}

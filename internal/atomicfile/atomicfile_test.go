package atomicfile_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"evbench/internal/atomicfile"
	"evbench/internal/trust"
	"evbench/testing/disktest"
	"evbench/testing/expect"
	"evbench/testing/need"
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
	expect.Must(t, atomicfile.Write(name, put("old", nil)))
	cause := errors.New("out of ideas")
	if err := atomicfile.Write(name, put("half of the n", cause)); !errors.Is(err, cause) || !strings.Contains(err.Error(), name) {
		t.Errorf("error = %v", err)
	}
	b, err := os.ReadFile(name)
	expect.True(t, err == nil && string(b) == "old", "the file holds %q, %v", b, err)
	expect.Must(t, atomicfile.Write(name, put("new", nil)))
	if b, err := os.ReadFile(name); err != nil || string(b) != "new" {
		t.Errorf("the file holds %q, %v", b, err)
	}
	entries, err := os.ReadDir(dir)
	expect.True(t, err == nil && len(entries) == 1, "%d files, %v", len(entries), err)
	expect.Error(t, atomicfile.Write(filepath.Join(name, "x"), put("", nil)), name)
}

func TestWriteMakesFolders(t *testing.T) {
	name := filepath.Join(t.TempDir(), "new", "folder", "x")
	hello := func(w io.Writer) error {
		_, err := io.WriteString(w, "hello")
		return err
	}
	expect.Must(t, atomicfile.Write(name, hello))
	b, err := os.ReadFile(name)
	expect.True(t, err == nil && string(b) == "hello", "the file holds %q, %v", b, err)
}

// A device and a link stay what they are.
func TestWriteToOtherThanFiles(t *testing.T) {
	dir := t.TempDir()
	hello := func(w io.Writer) error {
		_, err := io.WriteString(w, "hello")
		return err
	}
	expect.Must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	for name, target := range map[string]string{"null": os.DevNull, "link": filepath.Join(dir, "file")} {
		link := filepath.Join(dir, name)
		before, err := os.Stat(target)
		expect.Must(t, errors.Join(err, os.Symlink(target, link), atomicfile.Write(link, hello)))
		after, err := os.Stat(target)
		expect.False(t, err != nil || after.Mode() != before.Mode(), "%s: mode %v before, %v after, %v", target, before.Mode(), after.Mode(), err)
		to, err := os.Readlink(link)
		expect.True(t, err == nil && to == target, "%s leads to %q, %v", link, to, err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "file"))
	expect.True(t, err == nil && string(b) == "hello", "behind the link is %q, %v", b, err)
	expect.True(t, atomicfile.Write(dir, hello) != nil, "a folder was written to")
}

// text writes a file's name.
func text(name string) atomicfile.File {
	return atomicfile.File{Name: name, Write: func(w io.Writer) error {
		_, err := io.WriteString(w, name)
		return err
	}}
}

// Several files are written, or none, and nothing is left of those that were begun.
func TestWriteAll(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	cause := errors.New("out of ideas")
	bad := atomicfile.File{Name: in("c"), Write: func(w io.Writer) error {
		_, err := io.WriteString(w, "half")
		return errors.Join(err, cause)
	}}
	expect.Must(t, os.WriteFile(in("a"), []byte("old"), 0o640))
	expect.Must(t, errors.Join(os.Symlink("a", in("one")), os.Symlink(in("one"), in("two")), os.Mkdir(in("folder"), 0o700)))
	for _, tt := range []struct {
		files []atomicfile.File
		want  string
	}{
		{[]atomicfile.File{text(in("a")), text(in("new/b")), bad}, in("c") + ": out of ideas"},
		{[]atomicfile.File{text(in("a")), text(in("folder"))}, "folder: is a directory"},
		{[]atomicfile.File{text(in("b")), text(in("one")), text(in("two"))}, in("one") + " and " + in("two") + " are one file, " + in("a")},
		{[]atomicfile.File{text(in("b")), text(in("b"))}, "twice"},
	} {
		err := atomicfile.WriteAll(tt.files...)
		expect.True(t, err != nil && strings.Contains(err.Error(), tt.want) && !strings.Contains(err.Error(), "/."), "%v, want %q", err, tt.want)
		entries, err := os.ReadDir(dir)
		b, readErr := os.ReadFile(in("a"))
		expect.True(t, err == nil && readErr == nil && len(entries) == 4 && string(b) == "old",
			"%v: %v are left, a holds %q; %v, %v", tt.want, entries, b, err, readErr)
	}
	expect.Must(t, atomicfile.WriteAll(text(in("two")), text(in("new/b")), text(os.DevNull), text(os.DevNull)))
	info, err := os.Lstat(in("a"))
	expect.False(t, err != nil || info.Mode() != 0o640, "a has mode %v, %v", info.Mode(), err)
	if b, err := os.ReadFile(in("a")); err != nil || string(b) != in("two") {
		t.Errorf("a holds %q, %v", b, err)
	}
}

// A link that leads to nothing yet stays one; a circle of them is an error.
func TestWriteBehindLinks(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	expect.Must(t, errors.Join(os.Symlink("new", link), atomicfile.WriteAll(text(link))))
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("the link is %v, %v", info.Mode(), err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "new"))
	expect.True(t, err == nil && string(b) == link, "behind it is %q, %v", b, err)
	expect.Must(t, errors.Join(os.Remove(link), os.Symlink("link", link)))
	expect.True(t, atomicfile.WriteAll(text(link)) != nil, "a circle was written to")
}

// A link that somebody else has put where all may write is not followed.
func TestWriteBehindForeignLink(t *testing.T) {
	if os.Geteuid() != 0 {
		need.Optional(t, "root, who alone can give files away")
	}
	dir, link := t.TempDir(), ""
	for _, mode := range []fs.FileMode{0o777, 0o777 | fs.ModeSticky} {
		open := filepath.Join(t.TempDir(), "open")
		link = filepath.Join(open, "link")
		victim := filepath.Join(dir, "victim")
		expect.Must(t, errors.Join(os.WriteFile(victim, []byte("precious"), 0o600), os.Mkdir(open, 0o700), os.Chmod(open, mode),
			os.Symlink(victim, link), os.Lchown(link, 7, -1)))
		err := atomicfile.WriteAll(text(link))
		e, ok := errors.AsType[*trust.Error](err)
		expect.True(t, ok && e.Name == link, "%v: %v", mode, err)
		b, err := os.ReadFile(victim)
		expect.True(t, err == nil && string(b) == "precious", "%v: the victim holds %q, %v", mode, b, err)
	}
}

func two(t *testing.T) (r, w *os.File) {
	r, w, err := os.Pipe()
	expect.Must(t, err)
	t.Cleanup(func() { r.Close() })
	return r, w
}

func TestRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	expect.Must(t, os.WriteFile(name, []byte("12345"), 0o600))
	b, err := atomicfile.Read(name, 5)
	expect.True(t, err == nil && string(b) == "12345", "%q, %v", b, err)
	for _, most := range []int64{0, 4} {
		if b, err := atomicfile.Read(name, most); err == nil || b != nil || !strings.Contains(err.Error(), name+": more than ") {
			t.Errorf("%q, %v", b, err)
		}
	}
	for _, device := range []string{"/dev/zero", "/dev/urandom"} {
		_, err := atomicfile.Read(device, 1<<16)
		expect.Error(t, err, device+": this is a device, not a file or a pipe")
	}
	b, err = atomicfile.Read("/dev/null", 1)
	expect.True(t, err == nil && len(b) == 0, "/dev/null: %q, %v", b, err)
	r, w := two(t)
	expect.Must(t, errors.Join(expect.Err(w.WriteString("ab")), w.Close()))
	b, err = atomicfile.Read(fmt.Sprintf("/dev/fd/%d", r.Fd()), 5)
	expect.True(t, err == nil && string(b) == "ab", "a pipe: %q, %v", b, err)
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
			expect.True(t, len(b) == min(size, 10) && (err != nil) == (size > 10), "of %d bytes: %d, %v", size, len(b), err)
		}
	}
}

func packed(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	return b.String()
}

// What a packed file unpacks to is bounded, too.
func TestBoundOfPacked(t *testing.T) {
	name := filepath.Join(t.TempDir(), "zeros.gz")
	expect.Must(t, os.WriteFile(name, []byte(packed(strings.Repeat("a", 1<<16))), 0o600))
	expect.Error(t, expect.Err(atomicfile.Read(name, 1<<15)), "more than 32768 bytes")
}

// A byte order mark is taken away, also from a text that comes byte by byte; what is UTF-16 or no
// text is named.
func TestTextReader(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a": "a", "h0\r\n": "h0\r\n", "\xef\xbb\xbfh0\n": "h0\n", "\xef\xbb\xbf": "", "é": "é",
		"\xff\xfeh\x00": "UTF-16", "\xfe\xff\x00h": "UTF-16", "h\x000\x00": "not text", "\xfd7zXZ\x00": "this is packed", "BZh91AY": "this is packed", "\x28\xb5\x2f\xfd\x04": "this is packed", "BZh1": "BZh1", "\x1f\x8b\x08\x00": "unexpected EOF",
		packed("a\n"): "a\n", packed("\xef\xbb\xbfh0"): "h0", packed(packed("a")): "a", packed("\xfd7zXZ"): "this is packed",
	} {
		for _, r := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in))} {
			b, err := io.ReadAll(atomicfile.Text(r))
			expect.False(t, err == nil && string(b) != want || err != nil && (len(b) > 0 || !strings.Contains(err.Error(), want) || want == ""),
				"%q: %q, %v, want %q", in, b, err, want)
		}
	}
	if _, err := io.ReadAll(atomicfile.Text(iotest.ErrReader(io.ErrClosedPipe))); err != io.ErrClosedPipe {
		t.Error(err)
	}
}

// Whichever call fails, all files are as they were, nothing is left beside them, and the error names one of them.
func TestEachCallFails(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	expect.Must(t, errors.Join(os.WriteFile(in("a"), []byte("old a"), 0o640), os.WriteFile(in("b"), []byte("old b"), 0o600)))
	try := func() error { return atomicfile.WriteAll(text(in("a")), text(in("b")), text(in("new/c"))) }
	disktest.Each(t, try, func(call string, err error) {
		expect.Error(t, err, dir)
		expect.False(t, strings.Contains(err.Error(), "/."), "%s: %v names a file that nobody knows", call, err)
		entries := expect.Value(os.ReadDir(dir))(t)
		a, b := expect.Value(os.ReadFile(in("a")))(t), expect.Value(os.ReadFile(in("b")))(t)
		expect.True(t, string(a) == "old a" && string(b) == "old b" && len(entries) == 2, "%s: a holds %q, b %q, of %v", call, a, b, entries)
	})
	info := expect.Value(os.Stat(in("a")))(t)
	expect.True(t, info.Mode() == 0o640 && len(expect.Value(os.ReadDir(dir))(t)) == 3, "in the end a has mode %v", info.Mode())
}

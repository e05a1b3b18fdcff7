// Package atomicfile writes files completely or not at all, and reads a file up to a bound. The
// content does not matter.
package atomicfile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"evbench/internal/disk"
	"evbench/internal/lists"
)

type File struct {
	Name  string
	Write func(io.Writer) error
}

// Write writes one file; see WriteAll.
func Write(name string, write func(io.Writer) error) error { return WriteAll(File{name, write}) }

// WriteAll writes each file to a neighbour, syncs them and renames them into place once all are
// written. It makes missing folders of the files, and their parents. On an error the files are
// unchanged, no folder is made, and the error names the file.
//
// A new file has the mode that the umask leaves; a replaced file keeps its mode. A link stays a
// link: its target is replaced, unless another user may have made the link (a *trust.Error). Two
// names for one file are a *ClashError, and nothing is written. A device or a pipe, such as
// /dev/null, is written directly, and so is an open file of this process, such as /dev/stdout.
func WriteAll(files ...File) (err error) {
	places, err := find(lists.Map(files, func(f File) string { return f.Name }))
	if err != nil {
		return err
	}
	var made []string // latest first
	defer func() {
		if err != nil {
			err = errors.Join(err, Remove(made))
		}
	}()
	for i := range files {
		more, err := places[i].stage(files[i].Write)
		made = append(more, made...)
		if err != nil {
			return fmt.Errorf("%s: %w", files[i].Name, err)
		}
	}
	for i := range files {
		if len(files) > 1 {
			made = append(made, places[i].keep()...)
		}
		if err := places[i].put(files[i].Write); err != nil {
			err = fmt.Errorf("%s: %w", files[i].Name, err)
			for _, p := range places[:i] {
				err = errors.Join(err, p.back())
			}
			return err
		}
	}
	for _, p := range places {
		if p.kept != "" {
			_ = os.Remove(p.kept) // a second name of what is no file any more
		}
	}
	return nil
}

// keep gives the existing file a second name, where the file system has such, for back.
func (p *place) keep() []string {
	if kept := p.staged + "-was"; p.was != nil && !p.stands && os.Link(p.target, kept) == nil {
		p.kept = kept
		return []string{kept}
	}
	return nil
}

// back undoes put.
func (p *place) back() error {
	switch {
	case p.stands:
		return nil
	case p.kept != "":
		return os.Rename(p.kept, p.target)
	case p.was == nil:
		return os.Remove(p.target)
	}
	return fmt.Errorf("%s is replaced: the file system has no second name for what it was", p.target)
}

// Remove removes files and folders that were made. Files already in place have other names by now,
// and folders with content stay.
func Remove(made []string) error {
	var errs []error
	for _, name := range made {
		if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTEMPTY) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// MakeFolder makes a folder and its parents, and returns those that were missing, the deepest
// first, for Remove.
func MakeFolder(dir string) (made []string, err error) {
	for at := dir; at != filepath.Dir(at); at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append(made, at)
	}
	return made, os.MkdirAll(dir, 0o777)
}

// stage writes the neighbour of a file, and returns what it has made, the latest first.
func (p *place) stage(write func(io.Writer) error) (made []string, err error) {
	if p.stands {
		return nil, nil
	}
	dir, base := filepath.Split(p.target)
	if made, err = MakeFolder(filepath.Clean(dir)); err != nil {
		return made, bare(err)
	}
	mode := fs.FileMode(0o666)
	if p.was != nil {
		mode = p.was.Mode().Perm()
	}
	p.staged = filepath.Join(dir, "."+base+"-"+rand.Text())
	f, err := disk.Open(p.staged, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return made, bare(err)
	}
	return append([]string{p.staged}, made...), p.fill(f, write)
}

// fill writes the neighbour, and gives it the attributes of the file.
func (p *place) fill(f disk.File, write func(io.Writer) error) error {
	err := write(unnamed{f})
	if err == nil {
		err = bare(f.Sync())
	}
	if p.was != nil {
		if s, ok := p.was.Sys().(*syscall.Stat_t); ok {
			_ = f.Chown(int(s.Uid), int(s.Gid)) // as far as permitted
		}
		err = errors.Join(err, bare(f.Chmod(p.was.Mode().Perm())))
	}
	return errors.Join(err, bare(f.Close()))
}

// put renames the file into place, or writes directly.
func (p *place) put(write func(io.Writer) error) error {
	if !p.stands {
		return bare(disk.Rename(p.staged, p.target))
	}
	f, err := p.open()
	if err != nil {
		return bare(err)
	}
	return errors.Join(write(unnamed{f}), bare(f.Close()))
}

// unnamed is a file whose errors do not name it: its name is temporary.
type unnamed struct{ f io.Writer }

func (u unnamed) Write(b []byte) (int, error) {
	n, err := u.f.Write(b)
	return n, bare(err)
}

// bare returns an error of the file system without the names in it.
func bare(err error) error {
	if e, ok := err.(*fs.PathError); ok {
		return e.Err
	}
	if e, ok := err.(*os.LinkError); ok {
		return e.Err
	}
	return err
}

// Open opens a file to be read: also a pipe, a terminal or /dev/null, but no other device, most of
// which have no end.
func Open(name string) (*os.File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if s, ok := info.Sys().(*syscall.Stat_t); err == nil && ok && info.Mode()&fs.ModeDevice != 0 && s.Rdev != devNull && !term.IsTerminal(int(f.Fd())) {
		err = &fs.PathError{Op: "open", Path: name, Err: ErrDevice}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ErrDevice is wrapped by the errors of Open.
var ErrDevice = errors.New("this is a device, not a file or a pipe")

var devNull = unix.Mkdev(1, 3)

// Regular returns an error if something other than a file has the name: a pipe may have no writer.
func Regular(name string) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s: is no regular file", name)
	}
	return nil
}

// Read returns the text of a file, as converted by Text. More than most bytes are an error, so that
// an endless device or pipe takes no more memory than that.
func Read(name string, most int64) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(Bound(Text(f), most))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}

// MaxList bounds the size of a list with one or two names on a line: LIDs, roots, jobs, cables,
// hosts.
const MaxList = 64 << 20

// MaxTables bounds the size of forwarding tables, unpacked.
const MaxTables = 4 << 30

// Bound returns a reader of r that fails after the first most bytes.
func Bound(r io.Reader, most int64) io.Reader { return &bound{r, most, most} }

type bound struct {
	r          io.Reader
	most, left int64
}

func (b *bound) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if int64(n) > b.left {
		n, err = int(b.left), fmt.Errorf("more than %d bytes", b.most)
	}
	b.left -= int64(n)
	return n, err
}

// Text returns a reader of a text in UTF-8, unpacked if it is packed by gzip, without the byte order mark of some
// editors. It fails if r begins differently: UTF-16, packed otherwise, or with zeros.
func Text(r io.Reader) io.Reader { return &text{r: bufio.NewReader(r)} }

type text struct {
	r     *bufio.Reader
	plain io.Reader // r, or what is unpacked from it; nil before the first byte
	err   error
}

func (t *text) Read(p []byte) (int, error) {
	if t.plain == nil {
		t.plain = t.r
		head, _ := t.r.Peek(4) // fewer at the end; errors are returned again
		switch {
		case bytes.HasPrefix(head, []byte("\x1f\x8b")):
			var packed io.Reader
			if packed, t.err = gzip.NewReader(t.r); t.err == nil {
				t.plain = Text(packed)
			}
		case slices.ContainsFunc([]string{"\xfd7zX", "BZh9", "\x28\xb5\x2f\xfd"}, func(magic string) bool { return strings.HasPrefix(string(head), magic) }):
			t.err = errors.New("this is packed, by xz, bzip2 or zstd: unpack it")
		case bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")):
			t.err = errors.New("this is UTF-16: write it as UTF-8")
		case bytes.IndexByte(head, 0) >= 0:
			t.err = errors.New("this is not text: it contains zero bytes")
		case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
			_, _ = t.r.Discard(3)
		}
	}
	if t.err != nil {
		return 0, t.err
	}
	return t.plain.Read(p)
}

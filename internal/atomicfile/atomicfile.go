// Package atomicfile writes files whole or not at all, and reads a file up to a bound.
// It does not know what is in them.
package atomicfile

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A File is one to write.
type File struct {
	Name  string
	Write func(io.Writer) error
}

// Write writes one file; see WriteAll.
func Write(name string, write func(io.Writer) error) error { return WriteAll(File{name, write}) }

// WriteAll writes each file to a neighbour, syncs them and renames them into place once
// all are written. It makes the folders of the files, and their parents, where they are
// not there. On error the files are what they were before, no folder is made, and the
// error names the file.
//
// A new file has the mode that the umask leaves; one that is replaced keeps its mode. A
// link stays one: the file behind it is replaced, unless somebody else may have put the
// link there (a *trust.Error). Two names for one file are a *ClashError, and nothing is
// written. What is no file but a device or a pipe, such as /dev/null, is written to as it
// stands, and so is what this process has open, such as /dev/stdout.
func WriteAll(files ...File) (err error) {
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.Name
	}
	places, err := find(names)
	if err != nil {
		return err
	}
	var made []string // latest first
	defer func() {
		if err != nil {
			err = errors.Join(err, remove(made))
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
		if err := places[i].put(files[i].Write); err != nil {
			return fmt.Errorf("%s: %w", files[i].Name, err)
		}
	}
	return nil
}

// remove removes files and folders. Those that are in place by now have gone already, and
// so stay folders with something in them.
func remove(made []string) error {
	var errs []error
	for _, name := range made {
		if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTEMPTY) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// makeFolder makes a folder and its parents, and returns those that were not there, the
// deepest first.
func makeFolder(dir string) (made []string, err error) {
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
	if made, err = makeFolder(filepath.Clean(dir)); err != nil {
		return made, bare(err)
	}
	mode := fs.FileMode(0o666)
	if p.was != nil {
		mode = p.was.Mode().Perm()
	}
	p.staged = filepath.Join(dir, "."+base+"-"+rand.Text())
	f, err := os.OpenFile(p.staged, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return made, bare(err)
	}
	return append([]string{p.staged}, made...), p.fill(f, write)
}

// fill writes the neighbour, and makes it what the file was.
func (p *place) fill(f *os.File, write func(io.Writer) error) error {
	err := write(unnamed{f})
	if err == nil {
		err = bare(f.Sync())
	}
	if p.was != nil {
		if s, ok := p.was.Sys().(*syscall.Stat_t); ok {
			_ = f.Chown(int(s.Uid), int(s.Gid)) // as far as this user may
		}
		err = errors.Join(err, bare(f.Chmod(p.was.Mode().Perm())))
	}
	return errors.Join(err, bare(f.Close()))
}

// put puts the file into place, or writes to what stands there.
func (p *place) put(write func(io.Writer) error) error {
	if !p.stands {
		return bare(os.Rename(p.staged, p.target))
	}
	f, err := p.open()
	if err != nil {
		return bare(err)
	}
	return errors.Join(write(unnamed{f}), bare(f.Close()))
}

// unnamed is a file whose errors do not name it: nobody knows its name.
type unnamed struct{ f *os.File }

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

// Read returns what a file with a text holds, as Text gives it. More than most bytes are an
// error, so that a device or a pipe without an end takes no more memory than that.
func Read(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(Text(Bound(f, most)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}

// MaxList bounds what is read of a list with a name or two on a line: LIDs, roots, jobs,
// cables, hosts.
const MaxList = 64 << 20

// Bound returns a reader of r that fails behind the first most bytes.
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

// Text returns a reader of a text in UTF-8 without the byte order mark that some editors put in front
// of it. It fails where r begins as other than such a text: UTF-16, or with zeros as in packed files.
func Text(r io.Reader) io.Reader { return &text{r: bufio.NewReader(r)} }

type text struct {
	r     *bufio.Reader
	begun bool
	err   error
}

func (t *text) Read(p []byte) (int, error) {
	if !t.begun {
		t.begun = true
		head, _ := t.r.Peek(4) // less at the end, and errors come again
		switch {
		case bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")):
			t.err = errors.New("this is UTF-16: write it as UTF-8")
		case bytes.IndexByte(head, 0) >= 0:
			t.err = errors.New("this is no text: it has bytes that are zero")
		case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
			_, _ = t.r.Discard(3)
		}
	}
	if t.err != nil {
		return 0, t.err
	}
	return t.r.Read(p)
}

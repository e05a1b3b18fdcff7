// Package disk has the calls that make and change files whose loss would matter. Tests have the n-th of them fail.
package disk

import (
	"io/fs"
	"os"
)

// Fail is set by tests alone. It is asked before each call, with its name and that of the file, and its error is that of
// the call. A write that fails has written half.
var Fail func(call, name string) error

func fails(call, name string) error {
	if Fail != nil {
		if err := Fail(call, name); err != nil {
			return &fs.PathError{Op: call, Path: name, Err: err}
		}
	}
	return nil
}

// A File is one whose calls may fail.
type File struct{ *os.File }

func opened(name string, open func() (*os.File, error)) (File, error) {
	if err := fails("open", name); err != nil {
		return File{}, err
	}
	f, err := open()
	return File{f}, err
}

// Open is os.OpenFile.
func Open(name string, flag int, mode fs.FileMode) (File, error) {
	return opened(name, func() (*os.File, error) { return os.OpenFile(name, flag, mode) })
}

// CreateTemp is os.CreateTemp.
func CreateTemp(dir, pattern string) (File, error) {
	return opened(dir, func() (*os.File, error) { return os.CreateTemp(dir, pattern) })
}

// Rename is os.Rename.
func Rename(from, to string) error {
	if err := fails("rename", to); err != nil {
		return err
	}
	return os.Rename(from, to)
}

func (f File) Write(b []byte) (int, error) { return f.half(b, f.File.Write) }

// WriteAt implements io.WriterAt.
func (f File) WriteAt(b []byte, at int64) (int, error) {
	return f.half(b, func(b []byte) (int, error) { return f.File.WriteAt(b, at) })
}

func (f File) half(b []byte, write func([]byte) (int, error)) (int, error) {
	if err := fails("write", f.Name()); err != nil {
		n, _ := write(b[:len(b)/2])
		return n, err
	}
	return write(b)
}

// Sync is that of os.File.
func (f File) Sync() error {
	if err := fails("fsync", f.Name()); err != nil {
		return err
	}
	return f.File.Sync()
}

// Truncate is that of os.File.
func (f File) Truncate(size int64) error {
	if err := fails("truncate", f.Name()); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

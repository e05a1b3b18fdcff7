package linux

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"evbench/companion"
	"evbench/internal/atomicfile"
	"evbench/plan"
	"evbench/routing"
)

const addressFile = "addresses.txt"

// Write writes addresses.txt and a file NODE.batch for every node into a directory, and returns how
// many: all or none. A new file deletes the routes set by the existing file of an earlier plan and
// not by this one. An unreadable existing file is a *StaleError.
func (b *Batch) Write(dir string) (int, error) {
	files := []atomicfile.File{{Name: filepath.Join(dir, addressFile), Write: b.WriteAddresses}}
	for i := range b.nodes() {
		n := companion.Node(i)
		name := filepath.Join(dir, b.Name(n)+".batch")
		stale, err := earlier(name)
		if err != nil {
			return 0, &StaleError{err}
		}
		files = append(files, atomicfile.File{Name: name, Write: func(w io.Writer) error { return b.writeNode(w, n, stale) }})
	}
	if err := atomicfile.WriteAll(files...); err != nil {
		return 0, err
	}
	return len(files), nil
}

// OfTables returns the commands for forwarding tables of an engine.
func OfTables(t *routing.Tables, engine string) (*Batch, error) {
	return NewBatch(&plan.Plan{Tree: t.Tree, Tables: t, Routing: engine})
}

func (b *Batch) WriteNodes(w io.Writer) error {
	for n := range b.nodes() {
		if err := b.writeNode(w, companion.Node(n), nil); err != nil {
			return err
		}
	}
	return nil
}

// A StaleError says why the file of an earlier plan cannot be read.
type StaleError struct{ err error }

func (e *StaleError) Error() string { return e.err.Error() }

func (e *StaleError) Unwrap() error { return e.err }

// earlier returns the prefixes that a file sets and deletes: whether the file was used is unknown.
func earlier(name string) ([]netip.Prefix, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out, err := prefixes(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

// prefixes returns the prefixes of the routes that a batch file sets or deletes, sorted, each once.
func prefixes(r io.Reader) ([]netip.Prefix, error) {
	var out []netip.Prefix
	in := bufio.NewScanner(r)
	for line := 1; in.Scan(); line++ {
		f := strings.Fields(in.Text())
		if len(f) < 3 || f[0] != "route" || f[1] != "replace" && f[1] != "del" {
			continue
		}
		p, err := netip.ParsePrefix(f[2])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		out = append(out, p)
	}
	slices.SortFunc(out, netip.Prefix.Compare)
	return slices.Compact(out), in.Err()
}

package iproute

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
)

// AddressFile is the address plan among the files of Write.
const AddressFile = "addresses.txt"

// Write writes addresses.txt and a file NODE.batch for every node into a
// directory, and returns how many. A file that is there already, of an earlier
// plan, says what that plan had set and this one does not: such routes are
// deleted by the new file.
func (b *Batch) Write(dir string) (int, error) {
	if err := atomicfile.Write(filepath.Join(dir, AddressFile), b.WriteAddresses); err != nil {
		return 0, err
	}
	for i := range b.Nodes() {
		n := companion.Node(i)
		name := filepath.Join(dir, b.Name(n)+".batch")
		stale, err := earlier(name)
		if err != nil {
			return i, err
		}
		if err := atomicfile.Write(name, func(w io.Writer) error { return b.WriteNode(w, n, stale) }); err != nil {
			return i, err
		}
	}
	return b.Nodes() + 1, nil
}

// earlier returns the prefixes that a file sets, and those that it deletes: nobody
// knows whether it has been used.
func earlier(name string) ([]netip.Prefix, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out, err := Prefixes(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

// Prefixes returns the prefixes of the routes that a batch file sets or deletes,
// sorted, each once.
func Prefixes(r io.Reader) ([]netip.Prefix, error) {
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

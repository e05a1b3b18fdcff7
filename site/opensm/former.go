package opensm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"evbench/companion"
	"evbench/internal/atomicfile"
	"evbench/internal/lists"
	"evbench/site/lft"
	"evbench/site/netfile"
	"evbench/site/network"
)

// Files are those of a directory for an OpenSM that does not run, or is not to be notified. They
// implement companion.Switches for files; their tables are *Routes.
type Files struct {
	Dir string
	// MadeUp says that the network is not a discovered one, so that no OpenSM has given its LIDs.
	MadeUp bool
}

// KindFiles names tables written by Files in companion.FormerFile.
const KindFiles = "opensm files"

// Before implements companion.Switches. Without a file of LIDs the former LIDs are those of the
// network.
func (d Files) Before(_ context.Context, want companion.Tables) (companion.Tables, error) {
	r, ok := want.(*Routes)
	if !ok {
		return want, nil // former files, which have none before them
	}
	files, err := r.texts(d.Dir)
	if err != nil {
		return nil, err
	}
	if err := writable(d.Dir, files); err != nil {
		return nil, err
	}
	if files, err = present(d.Dir, files); err != nil {
		return nil, err
	}
	for i, f := range files {
		if f.Name == LIDsFile && f.Text == nil && !r.kept && !d.MadeUp && r.before.MaxLID() > 0 {
			var b bytes.Buffer
			if err := netfile.WriteGUID2LID(&b, r.before); err != nil {
				return nil, err
			}
			files[i].Text = b.Bytes()
		}
	}
	return &former{files: files}, nil
}

// Put implements companion.Switches.
func (d Files) Put(_ context.Context, want companion.Tables) (changed int, err error) {
	files, err := want.(interface {
		texts(dir string) ([]file, error)
	}).texts(d.Dir)
	if err != nil {
		return 0, err
	}
	return len(files), put(d.Dir, files)
}

// Restore implements companion.Switches.
func (d Files) Restore(ctx context.Context, former companion.Tables) (changed int, left companion.Tables, err error) {
	changed, err = d.Put(ctx, former)
	return changed, nil, err
}

// Installation returns an Installation of these files.
func (d Files) Installation() *companion.Installation {
	return &companion.Installation{Switches: d, Kind: KindFiles, Dir: d.Dir}
}

// writable reports why the files of a directory, which may be missing, cannot all be written.
func writable(dir string, files []file) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return atomicfile.Check(lists.Map(files, func(f file) string { return filepath.Join(dir, f.Name) })...)
}

// present returns the content of these files in a directory, in their order.
func present(dir string, files []file) ([]file, error) {
	out := make([]file, len(files))
	for i, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f.Name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		out[i] = file{f.Name, text}
	}
	return out, nil
}

// put writes the files that differ, and removes those without a text. A file that cannot be written
// may have the text already.
func put(dir string, files []file) error {
	var differ []file
	for _, f := range files {
		name := filepath.Join(dir, f.Name)
		text, err := os.ReadFile(name)
		switch {
		case f.Text == nil && !errors.Is(err, fs.ErrNotExist):
			if err := os.Remove(name); err != nil {
				return err
			}
		case f.Text != nil && (err != nil || !bytes.Equal(text, f.Text)):
			differ = append(differ, f)
		}
	}
	return write(dir, differ)
}

// A former is the former state: the files of a directory, and the tables that OpenSM loads from
// them, or, if it cannot, the tables of the switches.
type former struct {
	files []file
	held  *lft.Tables
}

// The parts of a former in companion.FormerFile, beside the files.
const (
	heldFile    = "held.lfts"
	networkFile = "network.txt" // with the LIDs, as ibnetdiscover prints it
)

func (m *Manager) formerly(files []file, n *network.Network) (*former, error) {
	files, err := present(m.Dir, files)
	if err != nil {
		return nil, err
	}
	out := &former{files: files, held: m.held.Clone("file", n)}
	for i, f := range files {
		if f.Name != LFTsFile {
			continue
		}
		if t, wrong := lft.ReadDump(bytes.NewReader(f.Text), n); wrong == nil {
			out.held = t
		} else if files[i].Text, err = dump(out.held); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func dump(t *lft.Tables) ([]byte, error) {
	var b bytes.Buffer
	err := t.WriteDump(&b)
	return b.Bytes(), err
}

func (f *former) tables() *lft.Tables { return f.held }

func (f *former) texts(string) ([]file, error) { return f.files, nil }

// Files implements companion.Tables.
func (f *former) Files() ([]companion.File, error) {
	var out []companion.File
	for _, x := range f.files {
		if x.Text != nil {
			out = append(out, companion.File{Name: x.Name, Text: string(x.Text)})
		}
	}
	if f.held == nil {
		return out, nil
	}
	held, err := dump(f.held)
	if err != nil {
		return nil, err
	}
	var net bytes.Buffer
	err = netfile.WriteIB(&net, f.held.Net)
	return append(out, companion.File{Name: heldFile, Text: string(held)}, companion.File{Name: networkFile, Text: net.String()}), err
}

// Former makes the tables from companion.FormerFile, without those of switches that are given up.
func Former(list []companion.File, givenUp ...string) (companion.Tables, error) {
	text := map[string][]byte{} // nil for missing files
	for _, x := range list {
		text[x.Name] = []byte(x.Text)
	}
	names := []string{LFTsFile, PathsFile, LIDsFile, ConfFile}
	f := &former{files: lists.Map(names, func(name string) file { return file{name, text[name]} })}
	if text[networkFile] == nil {
		return f, nil
	}
	n, err := netfile.ReadIB(bytes.NewReader(text[networkFile]))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", networkFile, err)
	}
	if f.held, err = lft.ReadDump(bytes.NewReader(text[heldFile]), n); err != nil {
		return nil, fmt.Errorf("%s: %w", heldFile, err)
	}
	var gone []network.Node
	for _, name := range givenUp {
		v, err := network.Names(n).Node(name)
		if err != nil {
			return nil, err
		}
		gone = append(gone, v)
	}
	f.held = f.held.Clone("file", n.Without(nil, gone)) // a switch without a cable is not compared
	return f, nil
}

package sweep

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"evbench/internal/disk"
	"evbench/internal/proc"
	"evbench/internal/trust"
)

// Schema is the schema in the first line of a journal. A line is the CRC-32C of the rest in eight
// hexadecimal digits, a space, and the rest: a Header, or the number of an item, a space and its
// result, as JSON.
const Schema = "evbench/sweep/1"

// A Header identifies the sweep of a journal.
type Header struct {
	Schema  string   `json:"schema"`
	Version string   `json:"version"`          // of the program
	Build   string   `json:"build,omitempty"`  // sum of the program's file; journals of 0.1.0 have none
	Commit  string   `json:"commit,omitempty"` // from which it was built, unchanged; "" if unknown
	Args    []string `json:"args"`             // without those about the shard, its journal, and the display
	Inputs  string   `json:"inputs"`           // sum of the files named by the arguments
	Shard   string   `json:"shard"`            // "3/8"
	Items   int      `json:"items"`            // of the sweep
	Own     int      `json:"own"`              // of the shard

	// AnyBuild takes another build of the same commit, such as one with MPI, for the same program.
	AnyBuild bool `json:"-"`
}

// differs says how another header is of another sweep, or "".
func (h *Header) differs(o *Header) string {
	switch {
	case !slices.Equal(h.Args, o.Args):
		return fmt.Sprintf("arguments %q, not %q", h.Args, o.Args)
	case h.Version != o.Version:
		return fmt.Sprintf("evbench %s, not %s", h.Version, o.Version)
	case h.Build != o.Build && h.Build != "" && o.Build != "" && !(o.AnyBuild && h.Commit == o.Commit && o.Commit != ""):
		why := ""
		if o.AnyBuild {
			why = fmt.Sprintf(", of commit %s, not %s", cmp.Or(h.Commit, "unknown"), cmp.Or(o.Commit, "unknown"))
		}
		return fmt.Sprintf("another build of evbench (%s, not %s)%s", h.Build, o.Build, why)
	case h.Inputs != o.Inputs:
		return "the files that its arguments name were others"
	case h.Items != o.Items:
		return fmt.Sprintf("%d items, not %d", h.Items, o.Items)
	}
	return ""
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const sumDigits = 8

// line returns the line of a journal for a text without a line break.
func line(text []byte) []byte {
	out := fmt.Appendf(make([]byte, 0, len(text)+sumDigits+2), "%0*x ", sumDigits, crc32.Checksum(text, castagnoli))
	return append(append(out, text...), '\n')
}

// textOf is the reverse of line; ok is false for a damaged or truncated line.
func textOf(l []byte) (text []byte, ok bool) {
	if len(l) < sumDigits+2 || l[len(l)-1] != '\n' || l[sumDigits] != ' ' {
		return nil, false
	}
	text = l[sumDigits+1 : len(l)-1]
	var sum [sumDigits / 2]byte
	if _, err := hex.Decode(sum[:], l[:sumDigits]); err != nil {
		return nil, false
	}
	return text, binary.BigEndian.Uint32(sum[:]) == crc32.Checksum(text, castagnoli)
}

// read reads a journal: its header, and then each result. good is its length up to the end of the
// last good line: a kill cut off the rest. A damaged line with good ones after it, a repeated item,
// and a file without a header are errors.
func read(r io.Reader, head func(*Header) error, take func(item int, value []byte) error) (good int64, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	seen, damaged := map[int]bool{}, 0
	at := int64(0)
	for number := 1; ; number++ {
		l, err := nextLine(in)
		if len(l) == 0 && err == io.EOF {
			return good, nil
		}
		if err != nil && err != io.EOF {
			return good, err
		}
		at += int64(len(l))
		text, ok := textOf(l)
		switch {
		case !ok && number == 1:
			return 0, errors.New("this is not a journal of a sweep")
		case !ok:
			damaged = max(damaged, number)
			continue
		case damaged > 0:
			return good, fmt.Errorf("line %d is damaged", damaged)
		case number == 1:
			h := &Header{}
			if err := json.Unmarshal(text, h); err != nil || h.Schema != Schema {
				return 0, errors.New("this is not a journal of a sweep")
			}
			err = head(h)
		default:
			err = one(text, seen, take)
		}
		if err != nil && err != io.EOF {
			return good, err
		}
		good = at
	}
}

const maxLine = 64 << 20 // bytes

func nextLine(in *bufio.Reader) (l []byte, err error) {
	for err = bufio.ErrBufferFull; err == bufio.ErrBufferFull; {
		var part []byte
		part, err = in.ReadSlice('\n')
		if l = append(l, part...); len(l) > maxLine {
			return l, fmt.Errorf("a line of more than %d bytes: this is not a journal of a sweep", maxLine)
		}
	}
	return l, err
}

func one(text []byte, seen map[int]bool, take func(item int, value []byte) error) error {
	number, value, _ := bytes.Cut(text, []byte(" "))
	item, err := strconv.Atoi(string(number))
	if err != nil {
		return fmt.Errorf("item %q: not a number", number)
	}
	if seen[item] {
		return fmt.Errorf("item %d appears twice", item)
	}
	seen[item] = true
	return take(item, value)
}

// A Journal is the file of one shard: lines are appended, each in one write, and synced to the disk
// every second. Only one process at a time has it open.
type Journal struct {
	name   string
	head   Header
	f      disk.File
	synced time.Time
}

// NewJournal returns the journal with a name, for a sweep with this header except for Items and
// Own.
func NewJournal(name string, head Header) *Journal {
	head.Schema = Schema
	return &Journal{name: name, head: head}
}

// Name returns the name of the file.
func (j *Journal) Name() string { return j.name }

// Load implements Keeper. It makes a missing file, with its folder. It does not change a file of
// another sweep or shard, and the error says how that differs.
func (j *Journal) Load(n, own int, take func(item int, value []byte) error) (err error) {
	j.head.Items, j.head.Own = n, own
	if err := os.MkdirAll(filepath.Dir(j.name), 0o777); err != nil {
		return err
	}
	if j.f, err = disk.Open(j.name, os.O_RDWR|os.O_CREATE, 0o666); err != nil {
		return err
	}
	// On a file system without locks the user must avoid two processes on one journal.
	if err := syscall.Flock(int(j.f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("%s: in use by another process", j.name)
	}
	info, err := j.f.Stat()
	if err == nil && info.Size() == 0 {
		return j.begin()
	}
	good := int64(0)
	if err == nil {
		good, err = read(j.f, j.same, take)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", j.name, err)
	}
	j.synced = time.Now()
	_, err = j.f.Seek(good, io.SeekStart)
	return errors.Join(err, j.f.Truncate(good))
}

func (j *Journal) begin() error {
	text, err := json.Marshal(j.head)
	if err != nil {
		return err
	}
	if _, err = j.f.Write(line(text)); err == nil {
		err = j.sync()
	}
	if err = errors.Join(err, trust.SyncName(j.name)); err != nil {
		err = errors.Join(err, j.f.Truncate(0)) // half a header is that of no journal
	}
	return err
}

// same refuses the journal of another sweep.
func (j *Journal) same(h *Header) error {
	why := h.differs(&j.head)
	if why == "" && h.Shard != j.head.Shard {
		why = fmt.Sprintf("shard %s, not %s", h.Shard, j.head.Shard)
	}
	if why != "" {
		return proc.Usagef("the journal belongs to another sweep: %s; give another file, or remove this one", why)
	}
	return nil
}

// Add implements Keeper.
func (j *Journal) Add(item int, value []byte) error {
	_, err := j.f.Write(line(append(fmt.Appendf(nil, "%d ", item), value...)))
	if err == nil && time.Since(j.synced) > time.Second {
		err = j.sync()
	}
	return err
}

func (j *Journal) sync() error {
	j.synced = time.Now()
	return j.f.Sync()
}

// Close syncs and closes the file.
func (j *Journal) Close() error {
	if j.f.File == nil {
		return nil
	}
	return errors.Join(j.f.Sync(), j.f.Close())
}

package verify

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"evbench/topology"
)

// A Piece is one line of an ordered plan: a fragment, or a part of one, servers by
// position, in byte times and bytes.
type Piece struct {
	Src, Dst             int32
	Spine, Top           int16 // as those of a Message
	Exchange             int32 // of the window, 0 first
	Start, Bytes, Offset int64
}

// An Ordered is the content of a plan file of version 2, before any check.
type Ordered struct {
	Tree   *topology.Tree // with the dead links
	Window int            // exchanges; 1 when not stated
	Sizes  string         // hash of the sizes, as stated; "" when not stated
	Time   int64          // as stated; 0 when not stated
	Bound  ByteBound
	Hash   string  // as stated; "" when not stated
	Pieces []Piece // in the order of the file
}

// A ByteBound is a lower bound on the time, as stated; Time is 0 when not stated.
type ByteBound struct {
	Time    int64
	Witness string // "send server3", "receive server0", "up leaf1", "down leaf1", "lp leaf0-spine1/up=3,…"
}

// Limits on numbers: of times, and of all bytes and offsets together.
const (
	maxTime   = 1 << 60
	maxSum    = 1 << 60
	maxWindow = 16 // exchanges of a window
)

var orderedKeys = []string{"topology", "fill", "spines", "down", "readers", "builders", "schedule", "routing", "window", "sizes", "time", "bound", "hash"}

// An orderedReader reads an ordered plan.
type orderedReader struct {
	*lineReader
	file Ordered
	form pathForm
	sum  int64 // of bytes and offsets
}

func readOrdered(in *input) (*Ordered, error) {
	r := &orderedReader{lineReader: newLineReader(in, firstOrdered, orderedKeys), file: Ordered{Window: 1}}
	r.value, r.endHeader, r.line = r.key, r.fabric, r.piece
	if _, err := r.readLine(); err != nil { // the version, which has been looked at
		return nil, err
	}
	r.begun, r.input.line = true, r.input.line+1
	if err := r.read(); err != nil {
		return nil, err
	}
	return &r.file, nil
}

func (r *orderedReader) key(key, value string) error {
	ok, f := true, &r.file
	switch key {
	case "window":
		var n int64
		if n, ok = count(value); !ok || n < 1 || n > maxWindow {
			return fmt.Errorf("window %q: must be a whole number of exchanges, 1..%d", shorten([]byte(value)), maxWindow)
		}
		f.Window = int(n)
	case "sizes":
		f.Sizes = value
	case "time":
		if f.Time, ok = count(value); !ok || f.Time < 1 {
			return fmt.Errorf("time %q: must be a whole number of byte times, 1..%d", shorten([]byte(value)), int64(maxTime))
		}
	case "bound":
		time, witness, _ := strings.Cut(value, " ")
		if f.Bound.Time, ok = count(time); !ok || f.Bound.Time < 1 || witness == "" {
			return fmt.Errorf("bound %q: write byte times and what proves them, for example 1200 send server3", shorten([]byte(value)))
		}
		f.Bound.Witness = witness
	default:
		return r.h.value(key, value)
	}
	return nil
}

func (r *orderedReader) fabric() error {
	tree, err := r.h.tree()
	switch {
	case err != nil:
		return err
	case r.h.routing != "" && r.h.routing != "pinned":
		return r.h.wrong("routing", "routing %q: plans of version 2 are pinned", shorten([]byte(r.h.routing)))
	}
	r.file.Tree, r.file.Hash, r.form = tree, r.h.hash, pathFormOf(tree.Shape)
	r.limit = min(r.room, r.file.Window*most(tree.Servers()))
	return nil
}

// count reads a whole number up to maxTime.
func count(text string) (int64, bool) {
	n, err := strconv.ParseUint(text, 10, 62)
	return int64(n), err == nil && n <= maxTime
}

// pieceColumns are the columns of a line; the last two may be left out.
var pieceColumns = []string{"src", "dst", "spine", "start", "bytes", "offset", "exchange"}

// piece reads "src dst spine|- start bytes [offset [exchange]]", the spine in the form of the tree.
func (r *orderedReader) piece(line []byte) error {
	fields := bytes.Fields(line)
	if len(fields) < 5 || len(fields) > 7 {
		return fmt.Errorf("%d columns; a line is \"src dst spine|- start bytes [offset [exchange]]\"", len(fields))
	}
	var v [7]int64
	spine, top := int16(NoSpine), int16(NoTop)
	for i, f := range fields {
		if i == 2 {
			var err error
			if spine, top, err = parsePath(f, r.form); err != nil {
				return err
			}
			continue
		}
		most := int64(maxTime)
		switch {
		case i < 3:
			most = maxNumber
		case i == 6:
			most = int64(r.file.Window) - 1
		}
		n, ok := count(string(f))
		if !ok || n > most {
			return fmt.Errorf("%s %q: must be a whole number, 0..%d", pieceColumns[i], shorten(f), most)
		}
		v[i] = n
	}
	if len(r.file.Pieces) >= r.limit {
		return fmt.Errorf("more than %d pieces: there is no space for more", r.limit)
	}
	if v[4]+v[5] > maxSum-r.sum {
		return fmt.Errorf("bytes and offsets add up to more than %d", int64(maxSum))
	}
	r.sum += v[4] + v[5]
	r.file.Pieces = append(r.file.Pieces, Piece{int32(v[0]), int32(v[1]), spine, top, int32(v[6]), v[3], v[4], v[5]})
	return nil
}

func comparePieces(a, b Piece) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst),
		cmp.Compare(a.Exchange, b.Exchange), cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(a.Spine, b.Spine), cmp.Compare(a.Top, b.Top))
}

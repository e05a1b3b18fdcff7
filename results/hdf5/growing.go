//go:build hdf5

package hdf5

import (
	"errors"
	"fmt"

	"gonum.org/v1/hdf5"
)

// textRoom is the least room of a text, for names that are not known yet.
const textRoom = 32

// A growing table is a dataset of the file that is being written.
type growing[T any] struct {
	table[T]
	rooms   []int
	chunk   int // rows
	layout  layout
	packets *hdf5.Table // nil before it is open
	count   int         // rows so far
}

func grow[T any](t table[T]) growing[T] {
	g := growing[T]{table: t, rooms: make([]int, len(t.columns)), chunk: chunkRows}
	for i := range g.rooms {
		g.rooms[i] = textRoom
	}
	return g
}

// widen makes room for the texts of rows. Once the dataset is there it does
// nothing.
func (g *growing[T]) widen(rows ...T) {
	for i := range rows {
		widen(g.rooms, g.fields(&rows[i]))
	}
}

// open makes the dataset, with room for the texts of rows, unless it is there.
func (g *growing[T]) open(file *hdf5.File, rows ...T) (err error) {
	if g.packets != nil {
		return nil
	}
	g.widen(rows...)
	g.packets, g.layout, err = g.create(file, g.rooms, g.chunk)
	return err
}

// put adds rows, if there are any, to the dataset, and makes it if it is not there.
func (g *growing[T]) put(file *hdf5.File, rows []T) error {
	if len(rows) == 0 {
		return nil
	}
	return errors.Join(g.open(file, rows...), g.append(rows))
}

// append adds rows to the dataset, which is open.
func (g *growing[T]) append(rows []T) error {
	if len(rows) == 0 || g.packets == nil {
		return nil
	}
	packets := make([]any, len(rows))
	for i := range rows {
		row, err := g.layout.encode(g.fields(&rows[i]))
		if err == nil && blank(row) {
			err = fmt.Errorf("%s: empty", g.columns[0].name)
		}
		if err != nil {
			return fmt.Errorf("/%s: row %d: %w", g.name, g.count+i, err)
		}
		packets[i] = raw(row)
	}
	g.count += len(rows)
	return because("append to /"+g.name, g.packets.Append(packets...))
}

func (g *growing[T]) close() error {
	if g.packets == nil {
		return nil
	}
	return because("close /"+g.name, g.packets.Close())
}

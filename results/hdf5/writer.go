//go:build hdf5

package hdf5

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"gonum.org/v1/hdf5"

	"evbench/results"
)

// schema is the form of the file, an attribute of its root.
const schema = "evbench/results/1"

const (
	// flushEvery is how long a row may wait in memory.
	flushEvery = time.Second
	// maxPending bounds the rows that wait.
	maxPending = 1 << 16

	manifestName = "/manifest.json"
	summaryName  = "/summary.json"
	plansName    = "/plans"
)

// A Writer keeps a run in a file. Rows wait in memory for at most a second, then
// go to the file in one go, which is then as a reader wants it: a run that is
// killed keeps all up to there. Manifest and Summary flush too. Any goroutine may
// use it. After an error the file stays as it is, and the error comes back from
// each further call and from Close.
type Writer struct {
	name string
	// What follows is used in the library only, by one goroutine at a time.
	file    *hdf5.File
	samples growing[results.Sample]
	links   growing[results.LinkCount]
	pairs   growing[results.PairCount]

	exchanges growing[results.ExchangeTime]

	mu      sync.Mutex // guards what follows
	pending rows
	err     error

	stop chan struct{}
	done chan struct{} // closed when the goroutine that flushes has ended
}

// rows wait to be written.
type rows struct {
	samples []results.Sample
	links   []results.LinkCount
	pairs   []results.PairCount

	exchanges []results.ExchangeTime
}

func (r *rows) count() int { return len(r.samples) + len(r.links) + len(r.pairs) + len(r.exchanges) }

// Create makes the file of a new run. A file that exists is never touched: it is
// an error that wraps fs.ErrExist.
func Create(name string) (*Writer, error) { return create(name, time.Tick(flushEvery)) }

func create(name string, tick <-chan time.Time) (*Writer, error) {
	if _, err := os.Lstat(name); err == nil {
		return nil, fmt.Errorf("%s is there already; results are never overwritten: %w", name, fs.ErrExist)
	}
	w := &Writer{
		name: name, stop: make(chan struct{}), done: make(chan struct{}),
		samples: grow(samples), links: grow(links), pairs: grow(pairs), exchanges: grow(exchanges),
	}
	if err := call(name, w.begin); err != nil {
		return nil, err
	}
	go w.flushAll(tick)
	return w, nil
}

// begin makes the file with what does not depend on the run.
func (w *Writer) begin() error {
	file, err := hdf5.CreateFile(w.name, hdf5.F_ACC_EXCL)
	if err != nil {
		return because("create", err)
	}
	if err := beginRoot(file); err != nil {
		return errors.Join(err, file.Close(), os.Remove(w.name))
	}
	w.file = file
	return nil
}

func beginRoot(file *hdf5.File) (err error) {
	plans, err := file.CreateGroup(plansName)
	if err != nil {
		return because("create "+plansName, err)
	}
	defer closing(plans, &err)
	root, err := file.OpenGroup("/")
	if err != nil {
		return because("open /", err)
	}
	defer closing(root, &err)
	version, err := hdf5.LibVersion()
	return errors.Join(because("version", err), setText(root, "schema", schema), setText(root, "hdf5_version", version.String()))
}

// flushAll flushes at every tick until the Writer is closed.
func (w *Writer) flushAll(tick <-chan time.Time) {
	defer close(w.done)
	for {
		select {
		case <-tick:
			if w.waiting() {
				w.commit(nil) // keeps its error
			}
		case <-w.stop:
			return
		}
	}
}

func (w *Writer) waiting() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pending.count() > 0
}

// Sample appends a row to /samples.
func (w *Writer) Sample(s results.Sample) error {
	return w.add(func(r *rows) { r.samples = append(r.samples, s) })
}

// Link appends a row to /links.
func (w *Writer) Link(l results.LinkCount) error {
	return w.add(func(r *rows) { r.links = append(r.links, l) })
}

// Pair appends a row to /pairs.
func (w *Writer) Pair(p results.PairCount) error {
	return w.add(func(r *rows) { r.pairs = append(r.pairs, p) })
}

// Exchange appends a row to /exchanges.
func (w *Writer) Exchange(e results.ExchangeTime) error {
	return w.add(func(r *rows) { r.exchanges = append(r.exchanges, e) })
}

// add never waits for the disk, unless very many rows wait already.
func (w *Writer) add(row func(*rows)) error {
	w.mu.Lock()
	if err := w.err; err != nil {
		w.mu.Unlock()
		return err
	}
	row(&w.pending)
	n := w.pending.count()
	w.mu.Unlock()
	if n < maxPending {
		return nil
	}
	return w.commit(nil)
}

// Flush puts all rows so far into the file.
func (w *Writer) Flush() error { return w.commit(nil) }

// Manifest puts /manifest.json in place of the one before. The first one makes
// the tables, with room for the names of the cases that it tells.
func (w *Writer) Manifest(m results.Manifest) error {
	var text bytes.Buffer
	if err := m.Write(&text); err != nil {
		return fmt.Errorf("%s: %s: %w", w.name, manifestName, err)
	}
	return w.commit(func() error {
		for _, p := range m.Predictions {
			w.samples.widen(results.Sample{Case: p.Case})
			w.links.widen(results.LinkCount{Case: p.Case})
			w.pairs.widen(results.PairCount{Case: p.Case})
			w.exchanges.widen(results.ExchangeTime{Case: p.Case})
		}
		return errors.Join(w.open(), replaceText(w.file, manifestName, text.Bytes()))
	})
}

// open makes the tables that are not there yet.
func (w *Writer) open() error {
	return errors.Join(w.samples.open(w.file), w.links.open(w.file), w.pairs.open(w.file), w.exchanges.open(w.file))
}

// Summary puts /summary and /summary.json in place of those before, and /failovers if
// there were any.
func (w *Writer) Summary(s results.Summary) error {
	var text bytes.Buffer
	if err := s.Write(&text); err != nil {
		return fmt.Errorf("%s: %s: %w", w.name, summaryName, err)
	}
	rows := make([]caseRow, len(s.Cases))
	for i, c := range s.Cases {
		rows[i] = newCaseRow(c)
	}
	var changes []failoverRow
	for _, f := range s.Failovers() {
		changes = append(changes, newFailoverRow(f))
	}
	return w.commit(func() error {
		if err := replaceRows(w.file, cases, rows); err != nil {
			return err
		}
		if len(changes) > 0 {
			if err := replaceRows(w.file, failovers, changes); err != nil {
				return err
			}
		}
		return replaceText(w.file, summaryName, text.Bytes())
	})
}

// replaceRows puts a table that does not grow in place of the one before.
func replaceRows[T any](file *hdf5.File, t table[T], rows []T) (err error) {
	if file.LinkExists(t.name) {
		if err := remove(file, t.name); err != nil {
			return err
		}
	}
	g := grow(t)
	g.chunk = max(1, len(rows))
	defer func() { err = errors.Join(err, g.close()) }()
	return errors.Join(g.open(file, rows...), g.append(rows))
}

// Plan keeps the plan of a case, once for each.
func (w *Writer) Plan(name string, text []byte) error {
	return w.commit(func() error { return writeText(w.file, plansName+"/"+escape.Replace(name), text) })
}

// escape makes a name that may stand in the group of plans: a slash would begin
// another group.
var escape = strings.NewReplacer("%", "%25", "/", "%2F", ".", "%2E")

// commit puts the rows that wait into the file, then does what else there is to
// do, and has the library write it all. Between commits the file does not change.
func (w *Writer) commit(more func() error) error {
	return w.keep(call(w.name, func() error {
		rows, err := w.take()
		if err != nil {
			return nil // kept before
		}
		err = w.put(rows)
		if more != nil && err == nil {
			err = more()
		}
		if err != nil {
			return err
		}
		return because("flush", w.file.Flush(hdf5.F_SCOPE_GLOBAL))
	}))
}

// put adds rows to their tables.
func (w *Writer) put(r rows) error {
	return errors.Join(w.samples.put(w.file, r.samples), w.links.put(w.file, r.links), w.pairs.put(w.file, r.pairs),
		w.exchanges.put(w.file, r.exchanges))
}

// take returns the rows that wait. It is called in the library, so that rows
// keep their order.
func (w *Writer) take() (rows, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.pending
	w.pending = rows{}
	return r, w.err
}

// keep remembers and returns the first error.
func (w *Writer) keep(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	return w.err
}

// Close writes what is left and closes the file. What is on disk then is
// complete if and only if there was no error.
func (w *Writer) Close() error {
	close(w.stop)
	<-w.done
	err := w.commit(w.open)
	closeErr := call(w.name, func() error {
		return errors.Join(w.samples.close(), w.links.close(), w.pairs.close(), w.exchanges.close(), because("close", w.file.Close()))
	})
	if err != nil {
		return err // what the library says then is but an echo of it
	}
	return errors.Join(closeErr, syncFile(w.name))
}

// syncFile has the system write the file: a full disk may show only then.
func syncFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

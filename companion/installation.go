package companion

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Tables are the tables of all switches of a network, in the form that their Switches install.
type Tables interface {
	// Files are texts from which the tables can be restored.
	Files() ([]File, error)
}

// A File is a part of tables as text.
type File struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Switches are the switches of a network that takes its tables as a whole.
type Switches interface {
	// Before reports why want cannot be installed, as far as that can be known, and returns the
	// current tables. It changes nothing.
	Before(ctx context.Context, want Tables) (held Tables, err error)
	// Put makes the switches take tables, reads them back and compares. It returns how many entries
	// have changed; the error names a switch that has not taken its table.
	Put(ctx context.Context, want Tables) (changed int, err error)
	// Restore is Put of tables from Before, as far as possible: where a switch fails the others
	// still take theirs. The error names all that have not; left are the tables of only these, nil
	// if Restore must be repeated as a whole.
	Restore(ctx context.Context, former Tables) (changed int, left Tables, err error)
}

// Marked are Switches that keep a mark of their owner: the network has one, from whatever directory its tables come.
type Marked interface {
	// Mark marks all switches, or none: the error names one with the mark of another. The owner may repeat it.
	Mark(ctx context.Context) error
	Unmark(ctx context.Context) error
}

// An Installation installs tables in switches, one set after the other, and finally restores those
// from before the first. Meanwhile it owns Dir, and switches that are Marked: no other Installation changes their tables.
// Goroutines may share it.
type Installation struct {
	Switches Switches
	// Kind names the kind of switches in FormerFile; Undo needs switches of the same kind.
	Kind string
	// Dir is the directory of OwnerFile, and of FormerFile, with which Undo restores the former
	// tables if this process could not; "": no files, and no owner.
	Dir string
	// Lends says that the tables stay only as long as the Installation.
	Lends bool

	mu     sync.Mutex // held while switches are changed
	lock   *lock      // of Dir; nil: not the owner
	marked bool       // the switches are
	was    []byte     // FormerFile before
	former Tables
	now    Tables // Last
	record *record
}

// An InstallError says that tables are not installed, and what is.
type InstallError struct {
	cause     error
	restoring error // why the earlier tables are not restored; nil: they are, read back
}

func (e *InstallError) Error() string {
	if e.restoring != nil {
		return fmt.Sprintf("%v; THE FORMER TABLES ARE NOT RESTORED: %v", e.cause, e.restoring)
	}
	return fmt.Sprintf("%v; the former tables are back, read back and compared", e.cause)
}

func (e *InstallError) Unwrap() error { return e.cause }

// Own makes this process the owner of Dir until Undo or Close, or confirms that it still is. The
// error names the owner, or the process that has left tables in place.
func (i *Installation) Own() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.own()
}

func (i *Installation) own() (err error) {
	switch {
	case i.Dir == "":
		return nil
	case i.lock != nil:
		return i.lock.Held()
	}
	if i.lock, err = own(i.Dir); err != nil {
		return err
	}
	if i.was, err = readFormer(i.Dir); err == nil {
		err = left(i.Dir, i.was)
	}
	if err != nil {
		err = errors.Join(err, i.release())
	}
	return err
}

func (i *Installation) owner() bool { return i.lock != nil || i.marked }

func (i *Installation) release() (err error) {
	if m, ok := i.Switches.(Marked); ok && i.marked {
		if err = m.Unmark(context.Background()); i.former != nil {
			err = nil // Undo has said what fails, and Undo of Dir removes the mark
		}
	}
	l := i.lock
	if i.lock, i.marked = nil, false; l == nil {
		return err
	}
	return errors.Join(err, l.release())
}

// claim makes this process the owner of Dir and of the switches: who looks at their tables may write them.
func (i *Installation) claim(ctx context.Context) error {
	err := i.own()
	if m, ok := i.Switches.(Marked); ok && err == nil {
		err = m.Mark(ctx)
		i.marked = i.marked || err == nil
	}
	return err
}

// Close lets others own Dir. Installed tables stay.
func (i *Installation) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.release()
}

// Check reports why tables cannot be installed, as far as that can be known; otherwise this process
// owns Dir.
func (i *Installation) Check(ctx context.Context, want Tables) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	_, err := i.before(ctx, want)
	return err
}

// before makes sure that this process owns Dir and may install tables, and returns the current
// ones. If that fails at first, Dir has no owner.
func (i *Installation) before(ctx context.Context, want Tables) (held Tables, err error) {
	owned := i.owner()
	if err = i.claim(ctx); err == nil {
		held, err = i.Switches.Before(ctx, want)
	}
	if err == nil {
		err = i.foreign(held)
	}
	if err != nil && !owned {
		err = errors.Join(err, i.release())
	}
	return held, err
}

// foreign refuses to lend tables in place of those that evbench has installed from elsewhere:
// perhaps a run has, which still needs them.
func (i *Installation) foreign(held Tables) error {
	h, ok := held.(interface{ Installed() error })
	if !ok || !i.Lends || i.Dir == "" || i.was != nil || i.former != nil {
		return nil
	}
	return h.Installed()
}

// Install installs tables. If that fails it restores the former ones and returns an *InstallError;
// other errors mean that nothing was changed.
func (i *Installation) Install(ctx context.Context, want Tables) (changed int, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	owned, first := i.owner(), i.former == nil
	held, err := i.before(ctx, want)
	if err != nil {
		return 0, err
	}
	if err := i.keep(held); err != nil {
		if !owned {
			err = errors.Join(err, i.release())
		}
		return 0, err
	}
	if changed, err = i.Switches.Put(ctx, want); err == nil {
		i.now = want
		return changed, nil
	}
	_, _, restoring := i.Switches.Restore(context.WithoutCancel(ctx), held)
	if restoring == nil && first {
		restoring = i.forget()
	}
	return 0, &InstallError{err, restoring}
}

// Last returns the tables installed last; nil at first and after Undo.
func (i *Installation) Last() Tables {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.now
}

// Again installs the last tables once more if they were changed from outside, as reported by holds.
// It returns whether that was necessary.
func (i *Installation) Again(ctx context.Context, holds func(context.Context, Tables) error) (done bool, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.now == nil || holds(ctx, i.now) == nil {
		return false, nil
	}
	if err = i.claim(ctx); err == nil {
		_, err = i.Switches.Before(ctx, i.now)
	}
	if err == nil {
		_, err = i.Switches.Put(ctx, i.now)
	}
	return true, err
}

// Undo restores the tables from before the first Install, if any, and lets others own Dir. If it
// fails FormerFile has those that are still to be restored, and Undo may be repeated until Close.
func (i *Installation) Undo(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.former == nil {
		return i.release()
	}
	_, rest, err := i.Switches.Restore(ctx, i.former)
	if err == nil {
		return errors.Join(i.forget(), i.release())
	}
	where := ""
	if i.record != nil {
		where = fmt.Sprintf(" (evbench routes undo %s)", i.Dir)
	}
	err = fmt.Errorf("THE FORMER TABLES ARE NOT RESTORED%s: %w", where, err)
	if rest == nil {
		return err
	}
	if i.former = rest; i.record != nil {
		err = errors.Join(err, i.record.keep(rest))
	}
	return err
}

// keep records the former tables, on disk before any change.
func (i *Installation) keep(held Tables) (err error) {
	if i.former != nil {
		return nil
	}
	if i.Dir != "" {
		if i.record, err = newRecord(i.Dir, i.Kind, i.Lends, held, i.was); err != nil {
			return err
		}
	}
	i.former = held
	return nil
}

// forget forgets the former tables, which the switches hold.
func (i *Installation) forget() error {
	r := i.record
	if i.former, i.now, i.record = nil, nil, nil; r == nil {
		return nil
	}
	return r.forget()
}

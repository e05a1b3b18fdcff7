package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"evbench/companion/opensm"
	"evbench/internal/atomicfile"
	"evbench/internal/proc"
	"evbench/routing/lft"
)

// A target is where tables for jobs go.
type target struct {
	o       Options
	unheard bool // the file is written, and OpenSM was not told
}

// put draws, writes and installs, as the options say.
func (to *target) put(ctx context.Context, r *Routed, t *lft.Tables) error {
	out, dir := to.o.Out, to.o.Load.Dir
	if lost := r.Lost(); lost > 0 && (out != "" || dir != "") {
		return fmt.Errorf("%d routes within jobs lead nowhere: %s is not written", lost, out+dir)
	}
	if t.Lanes() > 1 && (dir != "" || out != "" && !to.o.JSON) {
		return proc.Usagef("--lanes: the routes need %d virtual lanes, and OpenSM's engine file gives them one; -o FILE --format json writes them", t.Lanes())
	}
	if to.o.Draw != nil {
		if err := to.o.Draw(r, t.Net); err != nil {
			return err
		}
	}
	switch {
	case dir != "":
		return to.load(ctx, r, t)
	case out != "":
		return to.write(r, t)
	}
	return nil
}

// load has OpenSM load the tables, and reads them back.
func (to *target) load(ctx context.Context, r *Routed, t *lft.Tables) error {
	routes, err := opensm.OfTables(t)
	if err != nil {
		return err
	}
	err = opensm.Install(ctx, routes, to.o.Load)
	if _, tried := errors.AsType[*opensm.InstallError](err); err != nil && !tried {
		return proc.Usage(err) // nothing was done
	}
	r.Installed = err == nil
	return err
}

// write writes tables that the file does not have, and says so to OpenSM.
func (to *target) write(r *Routed, t *lft.Tables) error {
	name, form := to.o.Out, t.WriteDump
	if to.o.JSON {
		form = t.WriteJSON
	}
	var text bytes.Buffer
	if err := form(&text); err != nil {
		return err
	}
	r.Asked = true
	if old, err := atomicfile.Read(name, int64(text.Len())); err != nil || !bytes.Equal(old, text.Bytes()) {
		if err := atomicfile.Write(name, func(w io.Writer) error { _, err := w.Write(text.Bytes()); return err }); err != nil {
			return err
		}
		r.Written, to.unheard = true, to.o.PID != 0
	}
	if !to.unheard {
		return nil
	}
	if err := reload(to.o.PID); err != nil {
		return fmt.Errorf("%s is written, but not heard of: %w", name, err)
	}
	r.Signalled, to.unheard = true, false
	return nil
}

func reload(pid int) error {
	sm, err := opensm.Running(pid, "")
	if err != nil {
		return err
	}
	return errors.Join(sm.Reload(), sm.Close())
}

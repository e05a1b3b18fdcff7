package opensm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"evbench/companion"
	"evbench/internal/proc"
	"evbench/internal/show"
	"evbench/site/lft"
)

// A Manager is a running OpenSM with engine file, which loads tables into the switches of its
// subnet. It implements companion.Switches: its tables are *Routes. Reading the switches shows
// which tables are loaded; OpenSM's log only explains a failure.
type Manager struct {
	// Dir is the directory of the files; OpenSM's lfts_file is evbench.lfts in it.
	Dir string
	// Process is OpenSM's: a number, or Auto.
	Process string
	// LogFile is OpenSM's log, also after a rotation. "": as OpenSM is configured.
	LogFile string
	// ReadBack returns the tables of the switches, in the form of dump_lfts.
	ReadBack Reader
	// Master returns the master subnet manager, in the form of sminfo; nil: not available.
	Master Reader
	// Wait is how long OpenSM may take to load tables, former ones two minutes at least. 0 means two minutes.
	Wait time.Duration

	// find replaces Find in tests, where OpenSM is the test itself.
	find func(which, dir string) (*Process, error)
	// held is the tables of the switches, nil until they have been read.
	held *lft.Tables
	// guid is the port of the last known master subnet manager; 0: not known.
	guid uint64
	puts *companion.Installation
	// back is the least time for the way back; 0: defaultWait.
	back time.Duration
	// step is called after each step, with its start; nil is allowed.
	step func(what string, began time.Time)
}

const defaultWait = 2 * time.Minute

// A Reader returns data about the network, and fails beyond most bytes. ctx has a limit.
type Reader func(ctx context.Context, most int) ([]byte, error)

// CommandLine is Command of the words of a non-empty text.
func CommandLine(text string) Reader {
	words := strings.Fields(text)
	return Command(words[0], words[1:]...)
}

// Command returns a Reader of the output of a program, such as dump_lfts.
func Command(program string, args ...string) Reader {
	return func(ctx context.Context, most int) ([]byte, error) {
		return proc.Call{Most: most}.Answer(ctx, program, args...)
	}
}

// Install installs tables, and keeps in Dir those from before the first.
func (m *Manager) Install(ctx context.Context, r *Routes) (changed int, err error) {
	return m.Installation(false).Install(ctx, r)
}

// Installation returns the one Installation of these switches. The first call says whether it lends
// tables.
func (m *Manager) Installation(lends bool) *companion.Installation {
	if m.puts == nil {
		m.puts = &companion.Installation{Switches: m, Kind: Kind, Dir: m.Dir, Lends: lends}
	}
	return m.puts
}

// Own makes this process the one that changes the tables, until Close; see companion.Installation.
func (m *Manager) Own() error { return m.Installation(false).Own() }

// Close lets others change the tables; those installed stay.
func (m *Manager) Close() error { return m.Installation(false).Close() }

// Kind names tables installed by a Manager in companion.FormerFile.
const Kind = "opensm"

func (m *Manager) wait() time.Duration {
	if m.Wait <= 0 {
		return defaultWait
	}
	return m.Wait
}

func (m *Manager) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return within(ctx, m.wait())
}

func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("not within %s", limit))
}

// process finds OpenSM; of several, the one with a port.
func (m *Manager) process(guid uint64) (sm *Process, err error) {
	if m.find != nil {
		sm, err = m.find(m.Process, m.Dir)
	} else {
		sm, err = find(m.Process, m.Dir, guid)
	}
	if err != nil {
		return nil, m.absent(fmt.Errorf("OpenSM: %w", err))
	}
	return sm, nil
}

// An absentError says that no OpenSM runs, perhaps for a while: it restarts, or another one takes
// over.
type absentError struct{ error }

func (e absentError) Unwrap() error { return e.error }

// absent converts the error of a process that Auto may find later; for a process number the error
// stays.
func (m *Manager) absent(err error) error {
	if err == nil || m.Process != Auto {
		return err
	}
	return absentError{err}
}

func absent(err error) bool {
	_, is := errors.AsType[absentError](err)
	return is
}

func (m *Manager) tell(what string, began time.Time) {
	if m.step != nil {
		m.step(what, began)
	}
}

// loadable is tables for OpenSM.
type loadable interface {
	companion.Tables
	// texts are the files of Dir that go with the tables.
	texts(dir string) ([]file, error)
	tables() *lft.Tables
}

// Before implements companion.Switches.
func (m *Manager) Before(ctx context.Context, want companion.Tables) (companion.Tables, error) {
	l := want.(loadable)
	files, err := l.texts(m.Dir)
	if err != nil {
		return nil, err
	}
	if err := writable(m.Dir, files); err != nil {
		return nil, err
	}
	if err := m.ready(ctx, l); err != nil {
		return nil, err
	}
	return m.formerly(files, l.tables().Net)
}

// ready checks that OpenSM is reachable, will read the tables, and is the master.
func (m *Manager) ready(ctx context.Context, want loadable) error {
	r, ok := want.(*Routes)
	switch {
	case ok && !r.kept && r.before.MaxLID() == 0:
		return errors.New("the network has no LIDs: read it again (ibnetdiscover) now that OpenSM has assigned them")
	case ok && !r.kept:
		return fmt.Errorf("OpenSM assigns LIDs when it starts, and hosts have different ones: restart it with the %s and %s that evbench routes install writes without --pid", LIDsFile, ConfFile)
	}
	if m.ReadBack == nil {
		return errors.New("no way to read the tables back")
	}
	sm, guid, err := m.master(ctx)
	if err != nil {
		return err
	}
	m.guid = guid
	if err := sm.Close(); err != nil || m.held != nil {
		return err // the last installation has just read the held tables
	}
	if m.held, err = m.read(ctx, want.tables()); err != nil {
		return fmt.Errorf("read the tables as they are: %w", err)
	}
	return nil
}

var smGUID = regexp.MustCompile(`sm guid (0x[0-9a-fA-F]+)(?:.* state (\d+))?`)

// master returns the OpenSM that reads the tables and is master, and the GUID of its port, 0 if
// Master is nil. Any other OpenSM configures no switch.
func (m *Manager) master(ctx context.Context) (sm *Process, guid uint64, err error) {
	guid, unknown := m.ask(ctx)
	if sm, err = m.process(guid); err != nil {
		return nil, 0, err
	}
	own := []uint64{sm.set.guid}
	if sm.set.guid == 0 {
		own = localPorts()
	}
	if err = cmp.Or(m.absent(sm.reads(m.Dir)), unknown); err == nil && guid != 0 && len(own) > 0 && !slices.Contains(own, guid) {
		err = fmt.Errorf("OpenSM, process %d, is not master of the subnet: that is the subnet manager at port GUID %#016x; "+
			"load the tables there, or end it", sm.p.ID.PID, guid)
	}
	if err != nil {
		return nil, 0, errors.Join(err, sm.Close())
	}
	return sm, guid, nil
}

// ask returns the port GUID of the master subnet manager. During a takeover the answer may be
// another one, or missing.
func (m *Manager) ask(ctx context.Context) (guid uint64, err error) {
	if m.Master == nil {
		return 0, nil
	}
	ctx, cancel := m.limit(ctx)
	defer cancel()
	text, err := m.Master(ctx, 1<<16)
	if err != nil {
		return 0, absentError{fmt.Errorf("which subnet manager is master: %w", err)}
	}
	found := smGUID.FindSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("which subnet manager is master: %.200q contains no GUID", text)
	}
	const master = "3"
	if state := string(found[2]); state != "" && state != master {
		return 0, absentError{fmt.Errorf("which subnet manager is master: %.200q is of another", text)}
	}
	return number(string(found[1])), nil
}

// localPorts returns the GUIDs of the InfiniBand ports of this machine, none if they are unknown.
func localPorts() (out []uint64) {
	names, _ := filepath.Glob("/sys/class/infiniband/*/ports/*/gids/0")
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil {
			f := strings.Split(strings.TrimSpace(string(text)), ":")
			if guid := number("0x" + strings.Join(f[len(f)/2:], "")); guid != 0 {
				out = append(out, guid)
			}
		}
	}
	return out
}

// Put implements companion.Switches. It notifies OpenSM again until the switches hold the tables: a
// sweep under way may have read the earlier file.
func (m *Manager) Put(ctx context.Context, want companion.Tables) (changed int, err error) {
	return m.put(ctx, want.(loadable), false)
}

// Restore implements companion.Switches. It ignores switches that do not answer: OpenSM loads their
// former tables from its file when they are back.
func (m *Manager) Restore(ctx context.Context, former companion.Tables) (changed int, left companion.Tables, err error) {
	changed, err = m.put(ctx, former.(loadable), true)
	return changed, nil, err
}

// put makes the switches take tables, or, with back, their former ones again.
func (m *Manager) put(ctx context.Context, l loadable, back bool) (changed int, err error) {
	files, err := l.texts(m.Dir)
	if err != nil {
		return 0, err
	}
	before := m.held // nil after an error: unknown
	m.held = nil
	began := time.Now()
	if err := put(m.Dir, files); err != nil {
		if held, unread := m.read(ctx, l.tables()); back && unread == nil && differ(l.tables(), held, true) == nil {
			err = fmt.Errorf("the switches hold them, but at its next sweep OpenSM loads others from its file: %w", err)
		}
		return 0, err
	}
	m.tell("written", began)
	began = time.Now()
	if err := m.load(ctx, l.tables(), before, back); err != nil {
		return 0, err
	}
	m.tell("the switches hold the tables", began)
	m.held = l.tables()
	if before == nil {
		return 0, nil
	}
	return len(differences(m.held, before)), nil
}

const (
	firstLook = 20 * time.Millisecond // from notifying OpenSM to the first reading; then twice as long
	lastLook  = time.Second
	firstTell = time.Second // from notifying OpenSM to notifying it again; then twice as long
)

// load notifies OpenSM until the switches hold the tables, its log explains twice why they will
// not, or another subnet manager is master. An ended one may come back. A short Wait does not limit
// the way back.
func (m *Manager) load(ctx context.Context, want, before *lft.Tables, back bool) error {
	limit := m.wait()
	if back {
		limit = max(limit, cmp.Or(m.back, defaultWait))
	}
	ctx, cancel := within(ctx, limit)
	defer cancel()
	log := m.listen()
	defer log.close()
	for told, patience := 1, firstTell; ; told, patience = told+1, 2*patience {
		gone := m.reload(ctx, told > 1)
		if gone != nil && !absent(gone) {
			patience = 0 // the switches may be right all the same
		}
		err := m.await(ctx, want, patience, back)
		if err == nil {
			return nil
		}
		err = describe(err, before, back)
		switch why := log.why(); {
		case ctx.Err() != nil:
			return fmt.Errorf("%w: %w%s", cmp.Or(gone, context.Cause(ctx)), err, why)
		case gone != nil && patience == 0:
			return fmt.Errorf("%w; %w", gone, err)
		case why != "" && told > 1:
			return fmt.Errorf("%w%s", err, why)
		}
	}
}

// reload notifies OpenSM once; it may be another process than the last time.
func (m *Manager) reload(ctx context.Context, again bool) (err error) {
	var sm *Process
	if again {
		sm, m.guid, err = m.master(ctx)
	} else {
		sm, err = m.process(m.guid)
	}
	if err != nil {
		return err
	}
	if err = m.absent(sm.reads(m.Dir)); err == nil { // else it is not ours
		err = sm.Reload()
	}
	return cmp.Or(err, sm.Close())
}

// await reads the tables of the switches, or of those that answer, until they are as wanted.
func (m *Manager) await(ctx context.Context, want *lft.Tables, patience time.Duration, answering bool) error {
	over := time.Now().Add(patience)
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		select {
		case <-time.After(pause):
		case <-ctx.Done(): // and read what they hold
		}
		held, err := m.read(context.WithoutCancel(ctx), want)
		if err == nil {
			err = differ(want, held, answering)
		}
		if err == nil || ctx.Err() != nil || time.Now().After(over) {
			return err
		}
	}
}

func (m *Manager) read(ctx context.Context, like *lft.Tables) (*lft.Tables, error) {
	ctx, cancel := m.limit(ctx)
	defer cancel()
	// dump_lfts prints half a line of this size for a LID, two for a switch.
	const line = 256
	text, err := m.ReadBack(ctx, line*(like.LIDs+16)*max(like.Net.Switches(), 1))
	if err != nil {
		return nil, err
	}
	return lft.ReadDump(bytes.NewReader(text), like.Net)
}

// Holds reports which switches do not hold their tables.
func (m *Manager) Holds(ctx context.Context, want companion.Tables) error {
	t := want.(loadable).tables()
	held, err := m.read(ctx, t)
	if err == nil {
		err = differ(t, held, false)
	}
	return err
}

// altered reports which switches hold other tables. It ignores those that do not answer: they are
// not altered, and OpenSM loads their tables when they are back.
func (m *Manager) altered(ctx context.Context, want companion.Tables) error {
	t := want.(loadable).tables()
	held, err := m.read(ctx, t)
	if err != nil {
		return nil
	}
	return differ(t, held, true)
}

// A differError says which switches hold other entries than wanted.
type differError struct {
	held     *lft.Tables
	switches []string
	entries  int
	first    string
}

// differ compares tables; answering: those of switches with any entry.
func differ(want, held *lft.Tables, answering bool) error {
	e := &differError{held: held}
	for i := range want.Net.Switches() {
		if answering && !slices.ContainsFunc(held.Row(i), func(p uint8) bool { return p != lft.NoPort }) {
			continue
		}
		if diff := differencesAt(want, held, i); len(diff) > 0 {
			e.switches = append(e.switches, want.Net.Info(want.Net.Switch(i)).Name)
			if e.entries += len(diff); e.first == "" {
				e.first = diff[0]
			}
		}
	}
	if e.entries == 0 {
		return nil
	}
	return e
}

func (e *differError) Error() string {
	return fmt.Sprintf("%s: tables read back differ in %d entries, first %s", show.Few(e.switches), e.entries, e.first)
}

// describe adds to an error about differing tables: switches that hold the tables from before have
// taken nothing.
func describe(err error, before *lft.Tables, back bool) error {
	e, ok := errors.AsType[*differError](err)
	switch {
	case !ok:
		return fmt.Errorf("read tables back: %w", err)
	case before != nil && len(differences(e.held, before)) == 0 && back:
		return fmt.Errorf("OpenSM has not loaded them, the switches still hold those that evbench installed: %w", e)
	case before != nil && len(differences(e.held, before)) == 0:
		return fmt.Errorf("OpenSM has not loaded the tables, the switches hold their former ones: %w", e)
	}
	return fmt.Errorf("not all switches have taken their tables: %w", e)
}

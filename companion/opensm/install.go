package opensm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"evbench/companion"
	"evbench/internal/atomicfile"
	"evbench/internal/proc"
	"evbench/internal/show"
	"evbench/routing/lft"
	"evbench/topology/netfile"
	"evbench/topology/network"
)

// A Manager is a running OpenSM with engine file, which loads tables into the switches of its
// subnet. It implements companion.Switches: its tables are *Routes. What the switches hold says
// what is loaded; OpenSM's log only explains why tables are not.
type Manager struct {
	// Dir is where the files are; OpenSM's lfts_file is evbench.lfts in it.
	Dir string
	// Process is OpenSM's: a number, or Auto.
	Process string
	// LogFile is where OpenSM logs to, also over a rotation. "": where it says itself.
	LogFile string
	// ReadBack returns the tables that the switches hold, as dump_lfts prints them.
	ReadBack Reader
	// Master returns which subnet manager is master, as sminfo prints it; nil: it is not asked.
	Master Reader
	// Wait is how long OpenSM may take to load tables. 0 means two minutes.
	Wait time.Duration

	// find replaces Find in tests, where OpenSM is the test itself.
	find func(which, dir string) (*Process, error)
	// held is what the switches hold, nil until it has been read.
	held *lft.Tables
	// guid is the port of the subnet manager that was master when it was asked last; 0: not known.
	guid uint64
	puts *companion.Installation
	// step is told what has been done, and how long it took; nil is allowed.
	step func(what string, began time.Time)
}

const defaultWait = 2 * time.Minute

// A Reader returns what is read of the network, and fails where that is more than most bytes.
type Reader func(ctx context.Context, most int) ([]byte, error)

// CommandLine is Command of the words of a text, which has some.
func CommandLine(text string) Reader {
	words := strings.Fields(text)
	return Command(words[0], words[1:]...)
}

// Command returns a Reader of what a program prints, such as dump_lfts.
func Command(program string, args ...string) Reader {
	return func(ctx context.Context, most int) ([]byte, error) {
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.WaitDelay = time.Second
		return proc.Output(cmd, most)
	}
}

// Install puts tables in place, and keeps in Dir those that were there before the first.
func (m *Manager) Install(ctx context.Context, r *Routes) (changed int, err error) {
	return m.Installation(false).Install(ctx, r)
}

// Installation returns the one Installation of these switches. The first call says whether it lends tables.
func (m *Manager) Installation(lends bool) *companion.Installation {
	if m.puts == nil {
		m.puts = &companion.Installation{Switches: m, Kind: Kind, Dir: m.Dir, Lends: lends}
	}
	return m.puts
}

// Kind is how companion.FormerFile names tables that a Manager installed.
const Kind = "opensm"

func (m *Manager) wait() time.Duration {
	if m.Wait <= 0 {
		return defaultWait
	}
	return m.Wait
}

func (m *Manager) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, m.wait(), fmt.Errorf("not within %s", m.wait()))
}

// process finds OpenSM, of several that of a port.
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

// An absentError says that there is no OpenSM to tell, perhaps for a while: it is started anew, or another
// one takes over.
type absentError struct{ error }

func (e absentError) Unwrap() error { return e.error }

// absent is the error of a process that Auto may find later; that of a number stays.
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

// A loadable is tables for OpenSM.
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

// ready checks that OpenSM can be reached, will read the tables, and is the one whose tables count.
func (m *Manager) ready(ctx context.Context, want loadable) error {
	if r, ok := want.(*Routes); ok && !r.kept {
		return fmt.Errorf("OpenSM gives LIDs when it starts, and hosts have others than these: start it anew with the %s and %s that Write makes", LIDsFile, ConfFile)
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
		return err // what is held the last installation has just read
	}
	if m.held, err = m.read(ctx, want.tables()); err != nil {
		return fmt.Errorf("read the tables as they are: %w", err)
	}
	return nil
}

var smGUID = regexp.MustCompile(`sm guid (0x[0-9a-fA-F]+)(?:.* state (\d+))?`)

// master returns the OpenSM that reads the tables and is master, and the GUID of its port, 0 where nobody is asked. What
// another one is told goes to no switch.
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

// ask asks which subnet manager is master: the GUID of its port. While one takes over, another is asked, or nobody answers.
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
		return 0, fmt.Errorf("which subnet manager is master: %.200q says no GUID", text)
	}
	const master = "3"
	if state := string(found[2]); state != "" && state != master {
		return 0, absentError{fmt.Errorf("which subnet manager is master: %.200q is of another", text)}
	}
	return number(string(found[1])), nil
}

// localPorts returns the GUIDs of the InfiniBand ports of this machine, none where they are not to
// be known.
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

// Put implements companion.Switches. OpenSM is told again as long as the switches do not hold the
// tables: a sweep that it had begun by itself may have read the earlier file.
func (m *Manager) Put(ctx context.Context, want companion.Tables) (changed int, err error) {
	l := want.(loadable)
	files, err := l.texts(m.Dir)
	if err != nil {
		return 0, err
	}
	before := m.held // nil after an error: then nobody knows
	m.held = nil
	began := time.Now()
	if err := put(m.Dir, files); err != nil {
		return 0, err
	}
	m.tell("written", began)
	began = time.Now()
	if err := m.load(ctx, l.tables(), before); err != nil {
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
	firstLook = 20 * time.Millisecond // from telling OpenSM to the first reading; then twice as long
	lastLook  = time.Second
	firstTell = time.Second // from telling OpenSM to telling it again; then twice as long
)

// load tells OpenSM to load its file until the switches hold the tables, its log explains twice why they
// will not, or another subnet manager is master. One that has ended may come back.
func (m *Manager) load(ctx context.Context, want, before *lft.Tables) error {
	ctx, cancel := m.limit(ctx)
	defer cancel()
	log := m.listen()
	defer log.close()
	for told, patience := 1, firstTell; ; told, patience = told+1, 2*patience {
		gone := m.reload(ctx, told > 1)
		if gone != nil && !absent(gone) {
			patience = 0 // and what they hold may be right
		}
		err := m.await(ctx, want, patience)
		if err == nil {
			return nil
		}
		err = describe(err, before)
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

// reload tells OpenSM once, which may be another one than the last time.
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
	if err = m.absent(sm.reads(m.Dir)); err == nil { // else it is somebody else's
		err = sm.Reload()
	}
	return cmp.Or(err, sm.Close())
}

// await reads the tables of the switches until they are as wanted.
func (m *Manager) await(ctx context.Context, want *lft.Tables, patience time.Duration) error {
	over := time.Now().Add(patience)
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		select {
		case <-time.After(pause):
		case <-ctx.Done(): // and what they hold is to be said
		}
		held, err := m.read(context.WithoutCancel(ctx), want)
		if err == nil {
			err = differ(want, held)
		}
		if err == nil || ctx.Err() != nil || time.Now().After(over) {
			return err
		}
	}
}

// read reads the tables of the switches.
func (m *Manager) read(ctx context.Context, like *lft.Tables) (*lft.Tables, error) {
	ctx, cancel := m.limit(ctx)
	defer cancel()
	// What dump_lfts prints of a LID takes half a line, of a switch two.
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
		err = differ(t, held)
	}
	return err
}

// A differError says which switches hold something else than they should.
type differError struct {
	held     *lft.Tables
	switches []string
	entries  int
	first    string
}

// differ compares tables.
func differ(want, held *lft.Tables) error {
	e := &differError{held: held}
	for i := range want.Net.Switches() {
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

// describe says more of tables that differ: switches that hold what they held before have taken
// nothing.
func describe(err error, before *lft.Tables) error {
	e, ok := errors.AsType[*differError](err)
	switch {
	case !ok:
		return fmt.Errorf("read tables back: %w", err)
	case before != nil && len(differences(e.held, before)) == 0:
		return fmt.Errorf("the switches hold what they held before, OpenSM has not loaded the tables: %w", e)
	}
	return fmt.Errorf("not all switches have taken their tables: %w", e)
}

// Files are those of a directory for an OpenSM that does not run, or is not to be told. They implement
// companion.Switches, whose tables are *Routes, as far as files go.
type Files struct{ Dir string }

// KindFiles is how companion.FormerFile names tables that Files wrote.
const KindFiles = "opensm files"

// Before implements companion.Switches. Without a file of LIDs the former ones are those of the network.
func (d Files) Before(_ context.Context, want companion.Tables) (companion.Tables, error) {
	r, ok := want.(*Routes)
	if !ok {
		return want, nil // former files, which are not former to anything
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
		if f.Name == LIDsFile && f.Text == nil && !r.kept && r.before.MaxLID() > 0 {
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

// writable reports why the files of a directory, which need not be there yet, cannot all be written.
func writable(dir string, files []file) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var names []string
	for _, f := range files {
		names = append(names, filepath.Join(dir, f.Name))
	}
	return atomicfile.Check(names...)
}

// present returns what a directory has of these files, in their order.
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

// put writes files, and removes those without a text.
func put(dir string, files []file) error {
	for _, f := range files {
		if f.Text != nil {
			continue
		}
		if err := os.Remove(filepath.Join(dir, f.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return write(dir, files)
}

// A former is what was before: the files of a directory, and the tables that OpenSM loads from them.
// Where it cannot, those that the switches held.
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

// Former makes the tables of companion.FormerFile.
func Former(list []companion.File) (companion.Tables, error) {
	text := map[string][]byte{} // of what there was none, nil
	for _, x := range list {
		text[x.Name] = []byte(x.Text)
	}
	f := &former{}
	for _, name := range []string{LFTsFile, PathsFile, LIDsFile, ConfFile} {
		f.files = append(f.files, file{name, text[name]})
	}
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
	return f, nil
}

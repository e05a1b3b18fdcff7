package trust

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"evbench/testing/disktest"
	"evbench/testing/expect"
	"evbench/testing/need"
)

func says(err error, want string) bool {
	if want == "" {
		return err == nil
	}
	e, ok := errors.AsType[*Error](err)
	return ok && e.Name != "" && strings.Contains(e.reason, want)
}

func TestOwned(t *testing.T) {
	const me = 1000
	for _, tt := range []struct {
		owned
		file, folder string // what is wrong with it as such
	}{
		{owned{mode: 0o644, owner: me, names: 1}, "", "not a folder"},
		{owned{mode: 0o600, owner: 0, names: 1}, "", "not a folder"},
		{owned{mode: 0o600, owner: 7, names: 1}, "belongs to user 7, and this is user 1000", "not a folder"},
		{owned{mode: 0o600, owner: me, names: 2}, "2 names", "not a folder"},
		{owned{mode: 0o620, owner: me, names: 1}, "others may write to it (mode 0620)", "not a folder"},
		{owned{mode: 0o602, owner: me, names: 1}, "others may write", "not a folder"},
		{owned{mode: fs.ModeDir | 0o700, owner: me, names: 2}, "not a file", ""},
		{owned{mode: fs.ModeDir | 0o755, owner: 0, names: 2}, "not a file", "belongs to user 0"},
		{owned{mode: fs.ModeDir | fs.ModeSticky | 0o777, owner: me, names: 2}, "not a file", "others may write"},
		{owned{mode: fs.ModeSymlink | 0o777, owner: me, names: 1}, "not a file", "is a link"},
		{owned{mode: fs.ModeNamedPipe | 0o600, owner: me, names: 1}, "not a file", "not a folder"},
	} {
		tt.name = "x"
		if err := tt.owned.file(me); !says(err, tt.file) {
			t.Errorf("%+v as a file: %v", tt.owned, err)
		}
		if err := tt.owned.folder(me); !says(err, tt.folder) {
			t.Errorf("%+v as a folder: %v", tt.owned, err)
		}
	}
}

// One process has the file, and who removes it while it is locked does not leave the
// next one with a file that has no name.
func TestLock(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	expect.Is(t, expect.Err(Lock(name, os.O_RDWR)), fs.ErrNotExist)
	one := expect.Value(Lock(name, os.O_RDWR|os.O_CREATE))(t)
	if info, err := one.Stat(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := Lock(name, os.O_RDWR|os.O_CREATE); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), name) {
		t.Errorf("a second one: %v", err)
	}
	expect.Must(t, errors.Join(os.Remove(name), one.Close()))
	two := expect.Value(Lock(name, os.O_RDWR|os.O_CREATE))(t)
	same, err := named(two, name)
	expect.True(t, err == nil && same, "the file has another name: %v", err)
	expect.Must(t, two.Close())
}

// Links are the user's own, or stand where nobody else can put them.
func TestLink(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	expect.Must(t, os.Symlink("target", link))
	for _, mode := range []fs.FileMode{0o755, 0o777, 0o777 | fs.ModeSticky} {
		expect.OK(t, errors.Join(os.Chmod(dir, mode), Link(link)), "mine, %v", mode)
	}
	if os.Geteuid() != 0 {
		need.Optional(t, "root, who alone can give files away")
	}
	for mode, want := range map[fs.FileMode]string{0o755: "", 0o777: "link of user 7", 0o777 | fs.ModeSticky: "link of user 7"} {
		expect.Must(t, errors.Join(os.Chmod(dir, mode), os.Lchown(link, 7, -1)))
		if err := Link(link); !says(err, want) {
			t.Errorf("of another one, %v: %v", mode, err)
		}
	}
	expect.OK(t, errors.Join(os.Chown(dir, 7, -1), Link(link)), "of the folder's owner")
}

// A process is found by its ID while it runs, and no other one under its number.
func TestFindProcess(t *testing.T) {
	cmd := exec.Command("cat")
	in := expect.Value(cmd.StdinPipe())(t)
	expect.Must(t, cmd.Start())
	expect.Begun(t, cmd.Process.Pid)
	p := expect.Value(Find(cmd.Process.Pid))(t)
	expect.True(t, p.Name == "cat" && p.User == os.Geteuid() && p.ID.Check() == nil, "%+v", p)
	open, ok := p.Files()
	expect.True(t, ok && len(open) >= 3 && open[0].Number == 0 && open[0].Info.Mode().Type() == fs.ModeNamedPipe, "open: %v, %v", open, ok)
	id := p.ID
	expect.OK(t, expect.Err(id.Find()))
	id.Boot = "" // an older file
	expect.OK(t, expect.Err(id.Find()))
	id.Boot = "elsewhere"
	away := expect.Err(id.Find())
	expect.Error(t, away, "of another machine")
	expect.False(t, errors.Is(away, os.ErrProcessDone), "a process of another machine has ended: %v", away)
	id.Boot = p.Boot
	id.Start++
	expect.Is(t, expect.Err(id.Find()), os.ErrProcessDone)
	self, err := Self()
	expect.True(t, err == nil && self.PID == os.Getpid(), "%+v, %v", self, err)
	in.Close()
	expect.Must(t, expect.Err(cmd.Process.Wait()))
	for _, pid := range []int{cmd.Process.Pid, 0, -1, 1<<30 - 1} {
		expect.Is(t, expect.Err(Find(pid)), os.ErrProcessDone)
	}
}

// The last whole line of a record counts, and what is written after a torn one stands for itself.
func TestRecord(t *testing.T) {
	name := filepath.Join(t.TempDir(), "record")
	expect.Must(t, os.WriteFile(name, []byte("1\n2\n333333"), 0o600))
	r, last, torn, err := OpenRecord(name, os.O_RDWR)
	expect.MustTrue(t, err == nil && string(last) == "2" && torn == "333333", "%q, torn %q, %v", last, torn, err)
	if _, _, _, err := OpenRecord(name, os.O_RDWR); !errors.Is(err, ErrLocked) {
		t.Errorf("opened twice: %v", err)
	}
	expect.OK(t, r.Write(4))
	if last, err := ReadRecord(name); err != nil || string(last) != "4" {
		t.Errorf("read %q, %v", last, err)
	}
	text, err := os.ReadFile(name)
	expect.True(t, err == nil && string(text) == "1\n2\n4\n", "%q, %v", text, err)
	expect.OK(t, r.Remove())
	expect.Is(t, expect.Err(ReadRecord(name)), os.ErrNotExist)
}

// A file that is closed while files are looked at is not one that was opened in another way.
func TestFilesThatClose(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `while :; do exec 5>>"$0"; exec 5>&-; done`, log)
	expect.Must(t, cmd.Start())
	defer func() { _ = errors.Join(cmd.Process.Kill(), cmd.Wait()) }()
	p := expect.Value(Find(cmd.Process.Pid))(t)
	defer p.Release()
	for seen := 0; seen < 500; { // of eighty or so, one closes in between
		open, ok := p.Files()
		expect.MustTrue(t, ok, "no files")
		for _, f := range open {
			if f.Path == log {
				seen++
				expect.MustTrue(t, f.Append, "%+v", f)
			}
		}
	}
}

// Whichever call fails, a record has a whole state: the one before or the one after.
func TestEachCallFails(t *testing.T) {
	name := filepath.Join(t.TempDir(), "record")
	state := 0
	try := func() error {
		r, _, _, err := OpenRecord(name, os.O_RDWR|os.O_CREATE)
		if err != nil {
			return err
		}
		err = errors.Join(r.Write(state+1), r.Write(state+2))
		if err = errors.Join(err, r.Close()); err == nil {
			err = Replace(name, state+3)
		}
		return err
	}
	disktest.Each(t, try, func(call string, err error) {
		expect.Error(t, err, name)
		last, readErr := ReadRecord(name)
		now, atoiErr := strconv.Atoi(cmp.Or(string(last), "0"))
		expect.True(t, atoiErr == nil && (readErr == nil || state == 0) && state <= now && now <= state+3, "%s: %d became %q, %v", call, state, last, err)
		left := expect.Value(os.ReadDir(filepath.Dir(name)))(t)
		expect.True(t, len(left) <= 1, "%s: left are %v", call, left)
		state = now
	})
}

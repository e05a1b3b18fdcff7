package proc

import (
	"fmt"
	"os"
	"os/exec"
)

// guard waits for the end of its input. If the end comes before a second line, this program was
// killed: guard ends the process group in the first line, and gives it 15 s.
const guard = `read -r group || exit
read -r over && exit
kill -TERM "-$group"
n=0
while [ $n -lt 15 ] && kill -0 "-$group"; do sleep 1; n=$((n + 1)); done
kill -KILL "-$group"`

// announce reports its process group to the guard before it becomes the program: this program can
// be killed at any moment after starting the other.
const announce = `echo $$ >&3 && exec 3>&- "$0" "$@"`

// RunGuarded runs a program that leads a process group, as by Group, and has no extra files. If
// this program is killed meanwhile, the whole group is ended: the program may be a script, and a
// signal to the script alone leaves its child processes running.
func RunGuarded(cmd *exec.Cmd) error {
	sh, err := exec.LookPath("sh")
	if err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	if _, err := exec.LookPath(cmd.Path); err != nil && cmd.Err == nil {
		return err
	}
	from, to, err := os.Pipe()
	if err != nil {
		return err
	}
	defer to.Close()
	g := exec.Command(sh, "-c", guard)
	g.SysProcAttr, g.Stdin = Group(0), from
	err = g.Start()
	from.Close()
	if err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	cmd.Args = append([]string{"sh", "-c", announce, cmd.Path}, cmd.Args[1:]...)
	cmd.Path, cmd.ExtraFiles = sh, []*os.File{to}
	if err = cmd.Start(); err == nil {
		err = cmd.Wait()
		fmt.Fprintln(to, "over")
	}
	to.Close()
	_ = g.Wait()
	return err
}

package proc

import (
	"fmt"
	"os/exec"
	"strconv"
)

// guard waits for the end of its input. Where that comes before a second line, who wrote the
// first was killed: the process group of the first line is told to end, and has 15 s.
const guard = `read -r group || exit
read -r over && exit
kill -TERM "-$group"
n=0
while [ $n -lt 15 ] && kill -0 "-$group"; do sleep 1; n=$((n + 1)); done
kill -KILL "-$group"`

// RunGuarded runs a program that leads a process group, as Group has it. Where this one is killed
// meanwhile and cannot end it, the group is ended all the same: the program may be a script, and
// a signal to it alone leaves running what it has started.
func RunGuarded(cmd *exec.Cmd) error {
	g := exec.Command("sh", "-c", guard)
	g.SysProcAttr = Group(0)
	to, err := g.StdinPipe()
	if err != nil {
		return err
	}
	if err := g.Start(); err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	defer func() {
		fmt.Fprintln(to, "over")
		to.Close()
		_ = g.Wait()
	}()
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(to, "none")
		return err
	}
	fmt.Fprintln(to, strconv.Itoa(cmd.Process.Pid))
	return cmd.Wait()
}

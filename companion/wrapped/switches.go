package wrapped

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"evbench/companion/linux"
	"evbench/internal/proc"
	"evbench/routing/lft"
)

// Switches put tables into Linux switches: files for ip -batch go to Dir, and through Shell, a
// command such as ssh, those of the switches to "SHELL NODE ip -force -batch -". Hosts have one
// way to their leaf, and their files are left to others.
type Switches struct {
	Shell []string
	Dir   string
}

// install writes the files and has all switches take theirs. The first that fails is the error,
// and what the others took stays.
func (s *Switches) install(ctx context.Context, t *lft.Tables) error {
	b, err := linux.OfTables(t)
	if err != nil {
		return fmt.Errorf("--routes kernel: %w", err)
	}
	if _, err := b.Write(s.Dir); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(s.Dir, "*.batch"))
	if err != nil {
		return err
	}
	for _, file := range files {
		node := strings.TrimSuffix(filepath.Base(file), ".batch")
		if strings.HasPrefix(node, "server") {
			continue
		}
		if err := s.batch(ctx, node, file); err != nil {
			return err
		}
	}
	return nil
}

func (s *Switches) batch(ctx context.Context, node, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, s.Shell[0], append(append([]string{}, s.Shell[1:]...), node, "ip", "-force", "-batch", "-")...)
	cmd.Stdin = bytes.NewReader(text)
	var said proc.Tail
	cmd.Stdout, cmd.Stderr = &said, &said
	err = cmd.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil || said.String() != "" {
		return errors.Join(fmt.Errorf("routes of %s: %s %s ip -force -batch -: %.300s", node, strings.Join(s.Shell, " "), node, said.String()), err)
	}
	return nil
}

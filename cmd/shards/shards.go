// Package shards makes commands of urfave/cli whose items can be dealt to shards and kept in journals, and the
// command that joins these. Programs of more than one module have such commands.
package shards

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/internal/answer"
	"evbench/internal/cmdline"
	"evbench/internal/proc"
	"evbench/model/sweep"
	"evbench/view/live"
)

// mergedKey marks the context of a command whose results are all in journals.
type mergedKey struct{}

// Args is the key of an app's original arguments among its metadata.
const Args = "args"

// A Program is what journals and progress know of the program.
type Program struct {
	Version  string
	Terminal func(io.Writer) *live.Terminal
}

// Action is the action of a command whose items can be dealt to shards, and kept in a journal.
func (p Program) Action(action func(*cli.Context, *sweep.Sweep) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		s := &sweep.Sweep{}
		name := c.String("journal")
		merged, merging := c.Context.Value(mergedKey{}).(*sweep.Merged)
		if name == "" && !merging {
			return action(c, s)
		}
		var err error
		if text := c.String("shard"); text != "" {
			if s.Shard, err = sweep.ParseShard(text); err != nil {
				return proc.Usagef("--shard: %w", err)
			}
		}
		head, err := p.header(c, s.Shard)
		if err != nil {
			return err
		}
		if merging {
			s.Kept = merged
			if err := merged.Expect(head); err != nil {
				return err
			}
			return action(c, s)
		}
		j := sweep.NewJournal(name, head)
		s.Kept = j
		if !c.Bool("quiet") {
			shown := live.NewSets(p.Terminal(c.App.ErrWriter), time.Now)
			shown.What = "items"
			s.Progress = shown.Update
			defer shown.End()
		}
		err = action(c, s)
		if part, ok := errors.AsType[*sweep.Part](err); ok {
			form := "text"
			if c.Bool("json") {
				form = "json"
			}
			err = answer.Document{Answer: part.Answer(name), Text: func(io.Writer) error { return nil }, Schema: "evbench/shard/1", Fields: shardDone{part.Shard.String(), part.Items, part.Of, name}}.Write(c.App.Writer, form)
		}
		if c.Context.Err() != nil {
			fmt.Fprintf(c.App.ErrWriter, "finished items are in %s; the same command resumes from there\n", name)
		}
		return errors.Join(err, j.Close())
	}
}

// A shardDone is the output of --json about a shard.
type shardDone struct {
	Shard   string `json:"shard"`
	Items   int    `json:"items"`
	Of      int    `json:"of"`
	Journal string `json:"journal"`
}

func (p Program) header(c *cli.Context, s sweep.Shard) (sweep.Header, error) {
	args, _ := c.App.Metadata[Args].([]string)
	h, err := sweep.NewHeader(fmt.Sprintf("%s %s %s", p.Version, runtime.Version(), runtime.GOARCH), "/proc/self/exe", args, s)
	h.Commit = commit()
	return h, err
}

// commit is that of the checkout from which this program was built; "" where it was changed, or is unknown.
func commit() (hash string) {
	info, _ := debug.ReadBuildInfo() // in every program with modules
	for _, s := range info.Settings {
		switch s.Key + s.Value {
		case "vcs.modifiedtrue":
			return ""
		case "vcs.revision" + s.Value:
			hash = s.Value
		}
	}
	return hash
}

// sweeps reports whether arguments begin with a command that supports shards.
func sweeps(commands []*cli.Command, args []string) bool {
	for _, arg := range args {
		i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.Name == arg })
		if i < 0 {
			return false
		}
		if slices.ContainsFunc(commands[i].Flags, func(f cli.Flag) bool { return f.Names()[0] == "journal" }) {
			return true
		}
		commands = commands[i].Subcommands
	}
	return false
}

// Merge runs the journals' command without --shard, with all results from the journals.
func Merge(c *cli.Context) error {
	if c.NArg() == 0 {
		return proc.Usagef("merge: name the journals of all shards")
	}
	m, err := sweep.Merge(c.Args().Slice(), c.Bool("any-build"))
	if err != nil {
		return proc.Usage(err)
	}
	app := c.App
	args := append([]string{c.App.Name}, m.Header.Args...)
	if !sweeps(app.Commands, m.Header.Args) {
		return proc.Usagef("merge: the journals belong to %s %s, which has no shards", c.App.Name, answer.Typed(m.Header.Args...))
	}
	fmt.Fprintf(c.App.ErrWriter, "%s %s, from %d journals\n", c.App.Name, answer.Typed(m.Header.Args...), c.NArg())
	if dir := c.String("out"); dir != "" {
		args = append(args, "--out", dir)
	}
	if args, err = cmdline.FlagsFirst(app, args); err != nil {
		return proc.Usage(err)
	}
	app.Metadata[Args] = m.Header.Args
	return app.RunContext(context.WithValue(c.Context, mergedKey{}, m), args)
}

package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/internal/answer"
	"evbench/model/sweep"
	"evbench/view/live"
)

// mergedKey marks the context of a command whose results are all in journals.
type mergedKey struct{}

// metaArgs is the key of an app's original arguments.
const metaArgs = "args"

// swept is the action of a command whose items can be dealt to shards, and kept in a journal.
func swept(action func(*cli.Context, *sweep.Sweep) error) cli.ActionFunc {
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
				return usagef("--shard: %w", err)
			}
		}
		head, err := sweepHead(c, s.Shard)
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
			p := live.NewSets(newTerminal(c.App.ErrWriter, false), time.Now)
			p.What = "items"
			s.Progress = p.Update
			defer p.End()
		}
		err = action(c, s)
		if part, ok := errors.AsType[*sweep.Part](err); ok {
			err = printed(c, answer.Document{Answer: part.Answer(name), Text: func(io.Writer) error { return nil }, Schema: "evbench/shard/1", Fields: shardDone{part.Shard.String(), part.Items, part.Of, name}})
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

func sweepHead(c *cli.Context, s sweep.Shard) (sweep.Header, error) {
	args, _ := c.App.Metadata[metaArgs].([]string)
	h, err := sweep.NewHeader(fmt.Sprintf("%s %s %s", version, runtime.Version(), runtime.GOARCH), "/proc/self/exe", args, s)
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

package cmdline_test

import (
	"io"
	"testing"

	"github.com/urfave/cli/v2"

	"evbench/internal/cmdline"
	"evbench/testing/expect"
)

const described = `/ what is said of it

@shared
--dir text               where
--form text|json         how
? --dir: needed with --form=json

## first

# up
what is below

# up plan NAME [MORE]
what it does
+shared
--json on=form:json      the same as --form json
--n,-k int={n}[1..5]     how many
--wait time=1m[>0]       how long
--least int[0..]         at least
--a on                   one
--b on                   the other
--c texts                many
? --a: not with --b, which says so
? --c: only with --a or --n=2|3
? --least: needed with --b: say it
>   try up plan

# ~free
counts by itself
--x text                 one
--y text                 other
? --x --y: one of them
`

func tried(args ...string) error {
	do := func(c *cli.Context) error { return nil }
	tasks := cmdline.Description{
		Text: described, Words: map[string]string{"n": "2"}, Do: map[string]cli.ActionFunc{"up plan": do, "free": do},
	}.Tasks()
	app := &cli.App{
		Commands: cmdline.Commands(tasks), Writer: io.Discard, ErrWriter: io.Discard, ExitErrHandler: func(*cli.Context, error) {},
		Action: cmdline.NoCommand, Name: "x",
	}
	args, err := cmdline.FlagsFirst(app, append([]string{"x"}, args...))
	if err != nil {
		return err
	}
	return app.Run(args)
}

// What a description says of flags and arguments is checked before the action.
func TestDescription(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string // the error; empty: none
	}{
		{[]string{"up", "plan", "a"}, ""},
		{[]string{"up", "plan", "a", "b", "-k", "5", "--wait", "1ns", "--least", "0"}, ""},
		{[]string{"up", "plan"}, "plan: NAME is missing; see x up plan --help"},
		{[]string{"up", "plan", "a", "b", "c"}, `plan: "c" is one argument too many`},
		{[]string{"up", "plan", "a", "--json"}, "--dir is missing, needed with --form=json"},
		{[]string{"up", "plan", "a", "--form", "xml"}, `--form "xml": there are text, json`},
		{[]string{"up", "plan", "a", "--n", "6"}, "--n 6: must be 1..5"},
		{[]string{"up", "plan", "a", "--wait", "0s"}, "--wait 0s: must be more than 0"},
		{[]string{"up", "plan", "a", "--least", "-1"}, "--least -1: must be 0 or more"},
		{[]string{"up", "plan", "a", "--a", "--b", "--least", "1"}, "--a: not with --b, which says so"},
		{[]string{"up", "plan", "a", "--b"}, "--least is missing, needed with --b: say it"},
		{[]string{"up", "plan", "a", "--c", "1", "--c", "2"}, ""}, // --n is 2
		{[]string{"up", "plan", "a", "--c", "1", "-k", "4"}, "--c: only with --a or --n=2|3"},
		{[]string{"up", "plan", "a", "--c", "1", "-k", "4", "--a"}, ""},
		{[]string{"up", "plan", "a", "--wiat", "1s"}, "flag provided but not defined: --wiat; did you mean --wait?"},
		{[]string{"up", "plam"}, "up has no command \"plam\"; did you mean plan? there is plan"},
		{[]string{"fre"}, `no command "fre"; did you mean free? x help all lists them`},
		{[]string{"free", "1", "2", "--x", "1"}, ""},
		{[]string{"free"}, "--x or --y is missing"},
		{[]string{"free", "--x", "1", "--y", "2"}, "--x and --y: give one of them"},
		{[]string{"free", "--x", "1", "--x", "2"}, "--x is given twice; it takes one value, or a list where its help says so"},
	} {
		text := ""
		if err := tried(tt.args...); err != nil {
			text = err.Error()
		}
		expect.Equal(t, text, tt.want, "%q", tt.args)
	}
}

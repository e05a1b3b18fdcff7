package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"evbench/internal/atomicfile"
	"evbench/internal/cmdline"
)

const (
	commandsPage = "../../docs/reference/commands.md"
	commandsHead = `# Commands

Every command with its options, as ` + "`--help`" + ` prints them. Options may stand before or after the arguments.
What commands end with: [exit codes](exit-codes.md). This page is generated from the program by
` + "`go test ./cmd/evbench -run TestCommandsPage -update`" + `.
`
)

// TestCommandsPage compares the page of commands with the program; -update writes it.
func TestCommandsPage(t *testing.T) {
	var page strings.Builder
	page.WriteString(commandsHead)
	for _, c := range newApp(io.Discard, io.Discard).Commands {
		describeCommand(&page, "evbench", c)
	}
	if *update {
		if err := atomicfile.Write(commandsPage, func(w io.Writer) error { _, err := io.WriteString(w, page.String()); return err }); err != nil {
			t.Fatal(err)
		}
	}
	old, err := os.ReadFile(commandsPage)
	if err != nil {
		t.Fatal(err)
	}
	was, is := strings.Split(string(old), "\n"), strings.Split(page.String(), "\n")
	for i := range min(len(was), len(is)) {
		if was[i] != is[i] {
			t.Fatalf("line %d is %q, and should be %q: write the page with -update", i+1, was[i], is[i])
		}
	}
	if len(was) != len(is) {
		t.Errorf("%d lines, not %d: write the page with -update", len(was), len(is))
	}
}

// describeCommand writes the section of a command, and those of the commands below it.
func describeCommand(w io.Writer, parent string, c *cli.Command) {
	if c.Hidden {
		return
	}
	name := parent + " " + c.Name
	fmt.Fprintf(w, "\n## %s\n\n%s.\n", name, strings.ToUpper(c.Usage[:1])+c.Usage[1:])
	if len(c.Subcommands) > 0 {
		for _, s := range c.Subcommands {
			describeCommand(w, name, s)
		}
		return
	}
	fmt.Fprintf(w, "\n- `%s`\n", strings.TrimSpace(name+" "+c.ArgsUsage))
	for _, f := range c.VisibleFlags() {
		written, says := cmdline.WrittenFlag(f.(cli.DocGenerationFlag))
		fmt.Fprintf(w, "- `%s`: %s\n", written, says)
	}
	example, _ := strings.CutPrefix(c.Description, "Example:\n")
	for line := range strings.Lines(example) {
		fmt.Fprintf(w, "- Example: `%s`\n", strings.TrimSpace(line))
	}
}

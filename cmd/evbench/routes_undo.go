package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/companion"
	"evbench/companion/linux"
	"evbench/companion/opensm"
)

// An undoReport is what was brought back.
type undoReport struct {
	Dir     string `json:"dir"`
	Kind    string `json:"kind"`
	Since   string `json:"installed"` // when the tables came that are gone now
	Changed int    `json:"changed"`
}

func routesUndoAction(c *cli.Context) error {
	dir := c.Args().First()
	var wrong error // of the input
	f, changed, err := companion.Undo(c.Context, dir, func(f companion.Former) (s companion.Switches, t companion.Tables, err error) {
		s, t, wrong = formerOf(c, dir, f)
		return s, t, wrong
	})
	if err != nil && (wrong != nil || f.Schema == "") {
		return usage(err)
	}
	if err != nil {
		return err
	}
	r := undoReport{dir, f.Kind, f.Since.Format("2006-01-02T15:04:05Z"), changed}
	return printed(c, r.writeText, document("evbench/routes-undo/1", r))
}

func (r undoReport) writeText(w io.Writer) error {
	said := fmt.Sprintf("the switches hold their former tables, read back and compared: %d entries changed", r.Changed)
	if r.Kind == opensm.KindFiles {
		said = fmt.Sprintf("the former files are back; start OpenSM anew with %s in its cache directory and the lines of %s, where there are such files",
			filepath.Join(r.Dir, opensm.LIDsFile), filepath.Join(r.Dir, opensm.ConfFile))
	}
	_, err := fmt.Fprintf(w, "%s\n", said)
	return err
}

// formerOf is what a file says, and the switches that it is for.
func formerOf(c *cli.Context, dir string, f companion.Former) (companion.Switches, companion.Tables, error) {
	if f.Kind == linux.Kind {
		words := strings.Fields(c.String("shell"))
		if len(words) == 0 {
			return nil, nil, fmt.Errorf("--shell is missing: the tables are those of Linux switches, such as %s", f.Files[0].Name)
		}
		return linux.Former(words, f.Files)
	}
	t, err := opensm.Former(f.Files)
	if f.Kind == opensm.KindFiles {
		return opensm.Files{Dir: dir}, t, err
	}
	m := loadedBy(c)
	m.Dir = dir
	return m, t, err
}

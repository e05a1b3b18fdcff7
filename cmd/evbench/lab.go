package main

import (
	"encoding/json"
	"fmt"

	"github.com/urfave/cli/v2"

	"evbench/fabric/kind"
	"evbench/fabric/lab"
	"evbench/scenario"
)

func labCommand() *cli.Command {
	return command(&cli.Command{
		Name:  "lab",
		Usage: "a real fat tree of network namespaces on this machine, to look around in",
		Subcommands: []*cli.Command{
			command(&cli.Command{
				Name:  "doctor",
				Usage: "say what this system allows and why not; exit 0 when the lab can run here",
				Flags: []cli.Flag{
					&cli.BoolFlag{Name: "json", Usage: "print one JSON document"},
					&cli.BoolFlag{Name: "quiet", Usage: "print nothing; the exit code says it"},
				},
				Action: doctorAction,
			}, "  evbench lab doctor"),
			labUpCommand(), labExecCommand(), labDownCommand(),
		},
	}, "  evbench lab doctor\n  evbench lab up -t 'FT(2;4,4)' --down leaf0-spine0 -r minhop")
}

func doctorAction(c *cli.Context) error {
	if err := needArgs(c, 0, 0, ""); err != nil {
		return err
	}
	r := lab.Doctor()
	var err error
	switch {
	case c.Bool("quiet"):
	case c.Bool("json"):
		err = json.NewEncoder(c.App.Writer).Encode(struct {
			Schema string `json:"schema"`
			lab.Report
		}{"evbench/lab-doctor/1", r})
	default:
		_, err = fmt.Fprint(c.App.Writer, r)
	}
	if err == nil && !r.Possible() {
		err = &exitError{code: exitFailed}
	}
	return err
}

// enterLab sees to it that this process may build labs; see lab.Enter. The
// process that only waited for another one ends with that one's code.
func enterLab() error {
	code, done, err := lab.Enter()
	if err != nil {
		return usage(fmt.Errorf("%w; without namespaces: --fabric emulate", err))
	}
	if done {
		return &exitError{code: code}
	}
	return nil
}

// fabrics are those that this binary has.
var fabrics = scenario.Kinds()

// fabricFor returns how to open the fabric of a scenario. For the lab it sees to
// it that this process may build one, which can mean that another one has done
// all the work: see enterLab.
func fabricFor(s *scenario.Scenario) (kind.Opener, error) {
	if err := checkMemory(s, s.Tree.Servers()); err != nil {
		return nil, err
	}
	switch s.Fabric.Kind {
	case scenario.Lab:
		return kind.Lab, enterLab()
	case scenario.Emulate:
		return kind.Emulated, nil
	}
	return kind.Local, checkHosts(s)
}

// checkHosts refuses what plain hosts cannot do. Where the scenario says how, an
// injector takes links down.
func checkHosts(s *scenario.Scenario) error {
	if s.Inject.Kind != "" {
		return nil
	}
	for _, c := range s.Cases {
		if len(c.Failures) > 0 {
			return usagef("fabric hosts: case %q: evbench does not control this network and cannot take links down; "+
				"say with inject how it can", c.Name)
		}
	}
	return nil
}

package cli

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A worker gets every flag of the run but those that say where and how long it works.
func TestWorkersGetTheFlags(t *testing.T) {
	given := RunFlags{}
	for field, v := range reflect.ValueOf(&given).Elem().Fields() {
		switch field.Name {
		case "MaxIterations", "Worktree", "Workers", "Dirty", "JSON": // the run's own
		default:
			switch v.Kind() {
			case reflect.String:
				v.SetString("x" + field.Name)
			case reflect.Bool:
				v.SetBool(true)
			default:
				v.Set(reflect.ValueOf([]string{"a", "b,c"}))
			}
		}
	}
	var line struct {
		Worker WorkerCmd `cmd:""`
	}
	parser, err := (&App{}).lineParser(&line)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parse(parser, append([]string{"worker", "--slot=1", "--task=T-1"}, given.args()...)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(given, line.Worker.RunFlags); d != "" {
		t.Error(d)
	}
}

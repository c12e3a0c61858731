package sandbox

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	Main(os.Args)
	os.Exit(m.Run())
}

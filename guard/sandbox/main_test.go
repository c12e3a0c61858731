package sandbox

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	Main(os.Args)
	code := m.Run()
	cleanUp()
	os.Exit(code)
}

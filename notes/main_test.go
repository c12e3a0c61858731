package notes

import (
	"os"
	"testing"

	"git-ralph/fixtures/ram"
)

func TestMain(m *testing.M) { os.Exit(ram.Tests(m).Run()) }

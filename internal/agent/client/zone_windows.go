package client

import (
	"errors"
	"time"
)

// loadZone knows no zones: the table of Windows has other names.
func loadZone(string) (*time.Location, error) { return nil, errors.New("zones are not known by name") }

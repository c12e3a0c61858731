package proc

import "golang.org/x/sys/windows"

// bootID is empty here: start times are absolute, so boots need not be told apart.
func bootID() string { return "" }

const stillActive = 259 // STILL_ACTIVE of GetExitCodeProcess

// startTime is the creation time as a FILETIME: 100 ns since 1601.
func startTime(pid int) (uint64, bool) {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return 0, err == windows.ERROR_ACCESS_DENIED
	}
	defer windows.CloseHandle(h)
	var code uint32
	if err := windows.GetExitCodeProcess(h, &code); err == nil && code != stillActive {
		return 0, false
	}
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
		return 0, true
	}
	return uint64(created.HighDateTime)<<32 | uint64(created.LowDateTime), true
}

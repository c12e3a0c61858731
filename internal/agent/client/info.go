package client

// Info is what is known about a driver's client on this machine.
type Info struct {
	Found   bool
	Path    string
	Version string
	// Login says whether it can log in: yes, no, or unknown where only the client
	// can tell; "" = nobody looked.
	Login string
	// Supported says that the driver can use it. When it is false, or when
	// there is a Warning, Hint is the user's next move.
	Supported bool
	// Problem is why it is not supported, Warning what to know when it is; one
	// sentence each.
	Problem string
	Warning string
	Hint    string
}

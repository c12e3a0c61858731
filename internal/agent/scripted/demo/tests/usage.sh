# Without arguments the usage is shown, and the status says so.
sh convert.sh >/dev/null 2>&1
status=$?
if [ $status -ne 2 ]; then
	echo "want status 2, got $status"
	exit 1
fi

# Starts a command and ends as it ends: 128 and the signal, where one ended it. In a new process namespace the command is the first
# process, as in a container, and this one stays outside.
"$@" &
wait "$!"

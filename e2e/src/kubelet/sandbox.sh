# The sandbox of a pod: the process that holds the namespaces which its containers share, and what only they see.
# $1: the folder of the pod, $2: its host name
set -eu
echo "$2" >/proc/sys/kernel/hostname
ip link set lo up
mount -t tmpfs -o mode=755 layers "$1/layers"
mount -t tmpfs -o mode=1777,size=64m shm "$1/shm"
while IFS='	' read -r folder options; do
  mount -t tmpfs -o "$options" memory "$folder"
done <"$1/memory"
echo ready
exec sleep infinity

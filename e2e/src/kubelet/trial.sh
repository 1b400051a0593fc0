# Whether this machine allows what the sandbox of a pod needs; changes nothing outside the namespaces it is run in.
set -eu
mount -t tmpfs trial /mnt
mkdir /mnt/upper /mnt/spare /mnt/tree
mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/spare overlay /mnt/tree
ip link add trial0 type bridge
ip link add trial1 type veth peer name trial2
